// Tables for the terminal and for Markdown, and how figures read in both.

export const number = (value, digits = 0) =>
  Number.isFinite(value)
    ? value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : '–';

/** Three digits that mean something, whatever the size. */
export function figure(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  return number(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size === 0 ? 2 : 3);
}

export const percent = (share) => (Number.isFinite(share) ? `${number(share * 100)} %` : '–');

/** "4.40 (4.31 to 4.52)", or the median alone where there was one round. */
export function ratioText({ median, least, most, rounds }) {
  if (!Number.isFinite(median)) return '–';
  return rounds > 1 ? `${figure(median)} (${figure(least)} to ${figure(most)})` : figure(median);
}

/** Lines for a terminal, with an empty line after every `group` rows. */
export function textTable({ head, rows, group = rows.length }) {
  const texts = rows.map((row) => row.map(String));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...texts.map((row) => row[column].length)),
  );
  const line = (cells) => cells.map((cell, column) => cell.padStart(widths[column])).join('  ');
  const lines = [line(head), widths.map((width) => '─'.repeat(width)).join('  ')];
  for (const [index, row] of texts.entries()) {
    lines.push(line(row));
    if ((index + 1) % group === 0 && index + 1 < texts.length) lines.push('');
  }
  return lines.join('\n');
}

/** The same in Markdown: columns padded so that the source reads as a table too, figures to the right. */
export function markdownTable({ head, rows }) {
  const texts = rows.map((row) => row.map((cell) => String(cell).replaceAll('|', '\\|')));
  const isFigure = head.map((_, column) =>
    texts.every((row) => /^(|–|[-+]?[\d.,]+( .*)?)$/.test(row[column])),
  );
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...texts.map((row) => row[column].length)),
  );
  const line = (cells) =>
    `| ${cells
      .map((cell, column) => (isFigure[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join(' | ')} |`;
  const rule = widths.map((width, column) =>
    isFigure[column] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  return [line(head), line(rule), ...texts.map(line)].join('\n');
}
