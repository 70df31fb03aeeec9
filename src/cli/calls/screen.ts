/** What people see: tables that fit their terminal, times in words, statuses in colour. */
import type { RunStatus } from '../../client/index.js';
import { out } from '../colours.js';
import { plain, plainJson } from '../plain.js';

export { plain };

const COLOURS: Partial<Record<string, (text: string) => string>> = {
  running: out.cyan,
  completed: out.green,
  failed: out.red,
  timed_out: out.red,
  cancelled: out.yellow,
  terminated: out.yellow,
  continued_as_new: out.dim,
};

export const statusText = (status: RunStatus): string => (COLOURS[status] ?? plain)(status);

const STEPS: [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
];

/** `1.2 s`, `3m 5s`, `2d 4h`: two units at most. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const at = STEPS.findIndex(([size]) => ms >= size);
  const [size, unit] = STEPS[at]!;
  const next = STEPS[at + 1];
  const rest = next ? Math.floor((ms % size) / next[0]) : 0;
  return `${Math.floor(ms / size)}${unit}${rest > 0 ? ` ${rest}${next![1]}` : ''}`;
}

export function agoText(at: number, now = Date.now()): string {
  return at > now ? `in ${durationText(at - now)}` : `${durationText(now - at)} ago`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes begin with one
const ESCAPES = /\u001b\[[0-9;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above; the parts between are kept
const ESCAPES_BETWEEN = /(\u001b\[[0-9;]*m)/;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
/** What people see as one character; a terminal gives it a place of its own, or two. */
const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** The blocks of Unicode whose characters take two places, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
/** Marks that stand on the character before them, and what is not seen at all. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/gu;

const charactersOf = (text: string): string[] =>
  PRINTABLE_ASCII.test(text) ? [...text] : Array.from(CHARACTERS.segment(text), ({ segment }) => segment);

const widthOfCharacter = (character: string): number =>
  WIDE.test(character) ? 2 : [...character.replaceAll(WITHOUT_WIDTH, '')].length;

/** Places in a terminal. */
export function widthOf(text: string): number {
  const shown = text.replaceAll(ESCAPES, '');
  if (PRINTABLE_ASCII.test(shown)) return shown.length;
  return charactersOf(shown).reduce((sum, character) => sum + widthOfCharacter(character), 0);
}

/** Cut to the width, with a sign that it was. Colours end with it. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const part of text.split(ESCAPES_BETWEEN)) {
    if (part.startsWith('\u001b[')) {
      shown += part;
      continue;
    }
    for (const character of charactersOf(part)) {
      used += widthOfCharacter(character);
      if (used > width - 1) break;
      shown += character;
    }
  }
  return `${shown}…`;
}

/** Columns narrower than this say nothing. */
const LEAST_WIDTH = 10;

/**
 * In a terminal no line is wider than it: the last columns are cut, and left out when nothing much would be left of them,
 * so that the first ones, which people copy, stay whole. In a pipe nothing is cut, since a program may read it.
 */
export function table(
  head: string[],
  rows: string[][],
  // Of a terminal whose size nobody has set, they are 0.
  columns = (process.stdout.isTTY && process.stdout.columns) || undefined,
): string {
  const lines = [head.map((name) => out.bold(name)), ...rows];
  const widths = head.map((_, at) => lines.reduce((most, line) => Math.max(most, widthOf(line[at]!)), 0));
  const excess = () =>
    columns === undefined ? 0 : widths.reduce((sum, width) => sum + width + 2, -2) - columns;
  while (excess() > 0 && widths.length > 1) {
    const last = widths.pop()!;
    const room = -excess() - 2;
    if (room < Math.min(last, LEAST_WIDTH)) continue;
    widths.push(Math.min(last, room));
  }
  if (excess() > 0) widths[0] = columns!;
  return lines.map((line) => tableLine(line, widths)).join('\n');
}

function tableLine(cells: string[], widths: number[]): string {
  const shown = widths.map((width, at) => {
    const cell = cut(cells[at]!, width);
    return cell + ' '.repeat(width - widthOf(cell));
  });
  return shown.join('  ').trimEnd();
}

export function printJson(body: unknown): void {
  const { isTTY } = process.stdout;
  const text = JSON.stringify(body, null, isTTY ? 2 : undefined);
  process.stdout.write(`${isTTY ? plainJson(text) : text}\n`);
}

/** One of several, each on a line of its own. */
export function printJsonLine(body: unknown): void {
  const text = JSON.stringify(body);
  process.stdout.write(`${process.stdout.isTTY ? plainJson(text) : text}\n`);
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
