/**
 * The output of a worker process, line by line, without letting it cost the server more than it should: user code may
 * print as much as it likes, and what is beyond the bounds is counted and dropped.
 */
import type { Readable } from 'node:stream';
import type { Log } from '../../core/log.js';
import { LOG_MARK, MAX_LINE_LENGTH } from './child-protocol.js';

const MAX_LINES_PER_SECOND = 500;
const MAX_LAST_LINES = 12;

/** The last lines of a process that has ended, for whoever wants to know why. */
export class LastLines {
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > MAX_LAST_LINES) this.#lines.shift();
  }

  toString(): string {
    return this.#lines.join('\n') || 'nothing';
  }
}

export function forwardOutput(
  stream: Readable,
  level: 'info' | 'warn',
  pid: number,
  log: Log,
  lastLines: LastLines,
): void {
  let line = '';
  let windowStartedAt = 0;
  let linesInWindow = 0;
  let dropped = 0;

  const emit = (text: string) => {
    linesInWindow++;
    const record = text.startsWith(LOG_MARK) ? parseRecord(text.slice(LOG_MARK.length)) : undefined;
    if (record) {
      log[record.level]({ ...record.fields, worker: pid }, record.message);
      const { error } = record.fields as { error?: unknown };
      lastLines.add(typeof error === 'string' ? `${record.message}: ${error}` : record.message);
    } else if (text.trim() !== '') {
      log[level]({ worker: pid }, text);
      lastLines.add(text);
    }
  };

  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const now = performance.now();
    if (now - windowStartedAt >= 1_000) {
      windowStartedAt = now;
      linesInWindow = 0;
      if (dropped > 0)
        log.warn({ worker: pid }, `the worker prints too much: ${dropped} characters were dropped`);
      dropped = 0;
    }
    let start = 0;
    while (linesInWindow < MAX_LINES_PER_SECOND) {
      const end = chunk.indexOf('\n', start);
      const piece = chunk.slice(start, end < 0 ? undefined : end);
      const kept = piece.slice(0, MAX_LINE_LENGTH - line.length);
      line += kept;
      dropped += piece.length - kept.length;
      if (end < 0) return;
      // A record ends the line before it, and mostly there is none.
      if (line !== '' || chunk[end + 1] !== LOG_MARK) emit(line);
      line = '';
      start = end + 1;
    }
    dropped += chunk.length - start;
    line = '';
  });
  stream.on('end', () => {
    if (line !== '') emit(line);
    if (dropped > 0)
      log.warn({ worker: pid }, `the worker printed too much: ${dropped} characters were dropped`);
  });
  stream.on('error', () => {});
}

function parseRecord(text: string): { level: keyof Log; fields: object; message: string } | undefined {
  try {
    const [level, fields, message] = JSON.parse(text) as unknown[];
    if (!isLevel(level) || typeof fields !== 'object' || fields === null || typeof message !== 'string')
      return undefined;
    return { level, fields, message };
  } catch {
    // Cut in the middle, or printed by user code.
    return undefined;
  }
}

const isLevel = (value: unknown): value is keyof Log =>
  value === 'debug' || value === 'info' || value === 'warn' || value === 'error';
