// Bars as an SVG file, drawn by hand: no library, no font, no script. It brings its own background, light or dark as the
// reader's system says, so that it can be read wherever it is shown.

const WIDTH = 760;
const LEFT = 180;
const RIGHT = 150;
const BAR = 18;
const GAP = 6;
const GROUP_HEAD = 34;
const TOP = 64;
const BOTTOM = 34;

const asText = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const round = (value) => Math.round(value * 10) / 10;

/**
 * `groups`: [{ name, bars: [{ label, value, text, isOurs }] }]. Each group has a scale of its own, from nothing to its
 * longest bar, so that lengths within a group compare and lengths of different groups do not.
 */
export function barChart({ title, subtitle, note, groups }) {
  const parts = [];
  let y = TOP;
  for (const { name, bars } of groups) {
    parts.push(`<text class="group" x="20" y="${y + 18}">${asText(name)}</text>`);
    y += GROUP_HEAD;
    const longest = Math.max(...bars.map(({ value }) => value).filter(Number.isFinite), 0);
    for (const { label, value, text, isOurs = false } of bars) {
      const length = longest > 0 && Number.isFinite(value) ? (value / longest) * (WIDTH - LEFT - RIGHT) : 0;
      const middle = y + BAR / 2 + 4;
      parts.push(
        `<text class="label" x="${LEFT - 10}" y="${middle}">${asText(label)}</text>`,
        `<rect class="${isOurs ? 'ours' : 'other'}" x="${LEFT}" y="${y}" width="${round(Math.max(length, 1))}" height="${BAR}" rx="2"/>`,
        `<text class="value" x="${round(LEFT + Math.max(length, 1) + 8)}" y="${middle}">${asText(text)}</text>`,
      );
      y += BAR + GAP;
    }
    y += GAP;
  }
  const height = y + BOTTOM;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${asText(title)}">
<title>${asText(title)}</title>
<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; }
  .group { font-weight: 600; }
  .label { text-anchor: end; }
  .faint { font-size: 12px; fill: #59636e; }
  .ground { fill: #ffffff; }
  .ours { fill: #0969da; }
  .other { fill: #afb8c1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .faint { fill: #9198a1; }
    .ground { fill: #0d1117; }
    .ours { fill: #4493f8; }
    .other { fill: #656c76; }
  }
</style>
<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>
<text class="title" x="20" y="30">${asText(title)}</text>
<text class="faint" x="20" y="50">${asText(subtitle)}</text>
${parts.join('\n')}
<text class="faint" x="20" y="${height - 14}">${asText(note)}</text>
</svg>
`;
}
