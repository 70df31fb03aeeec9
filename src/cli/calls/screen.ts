/** What people see: tables that fit their terminal, times in words, statuses in colour. */
import pc from 'picocolors';
import type { RunStatus } from '../../client/index.js';

const COLOURS: Record<RunStatus, (text: string) => string> = {
  running: pc.cyan,
  completed: pc.green,
  failed: pc.red,
  timed_out: pc.red,
  cancelled: pc.yellow,
  terminated: pc.yellow,
  continued_as_new: pc.dim,
};

export const statusText = (status: RunStatus): string => COLOURS[status](status);

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
// biome-ignore lint/suspicious/noControlCharactersInRegex: they would move the cursor
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]+/g;

const widthOf = (text: string): number => [...text.replaceAll(ESCAPES, '')].length;

/** Texts of other people on one line, and without anything that a terminal would obey. */
export const plain = (text: string): string => text.replaceAll(CONTROLS, ' ');

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
    const characters = [...part].slice(0, Math.max(0, width - 1 - used));
    shown += characters.join('');
    used += characters.length;
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
  columns = process.stdout.isTTY ? process.stdout.columns : undefined,
): string {
  const lines = [head.map((name) => pc.bold(name)), ...rows];
  const widths = head.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at]!))));
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
  process.stdout.write(`${JSON.stringify(body, null, process.stdout.isTTY ? 2 : undefined)}\n`);
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
