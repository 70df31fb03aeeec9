/** A line of the log as the supervisor of a worker process reads it. */
import { inspect } from 'node:util';
import type { Log } from '../core/log.js';
import { cut } from '../core/values/text.js';
import { MAX_LINE_LENGTH } from './supervision/child-protocol.js';

/** Of a line that is too long: what its message may take, and the same again its fields. */
const SHARE = 3_500;
const MAX_TEXT_LENGTH = 500;
const TOO_LONG = '(too long for a line of the log)';

/**
 * Libraries and user code log fields of any kind and length. No line of theirs may end the process, and none may be so long
 * that it is cut on its way: it would lose its level, and with the names of its fields that some of them are secret.
 */
export function logLine(level: keyof Log, fields: object, message: string): string {
  const line = lineOf(level, fields, message);
  if (line.length < MAX_LINE_LENGTH) return line;
  return JSON.stringify([level, shortened(fields), fitting(message)]);
}

function lineOf(level: keyof Log, fields: object, message: string): string {
  try {
    return JSON.stringify([level, fields, message]);
  } catch {
    const text = inspect(fields, { breakLength: Number.POSITIVE_INFINITY });
    return JSON.stringify([level, { fields: text }, message]);
  }
}

/** The shortest first, such as the ids of the run, and as many as there is room for. */
function shortened(fields: object): object {
  const kept = Object.entries(fields).map(([name, value]) => [name, shortValue(value)] as const);
  const sized = kept.map((entry) => ({ entry, length: JSON.stringify(entry).length }));
  sized.sort((a, b) => a.length - b.length);
  let room = SHARE;
  return Object.fromEntries(
    sized.flatMap(({ entry, length }) => {
      room -= length;
      return room >= 0 ? [entry] : [];
    }),
  );
}

/** A text may be cut. Anything else may have secrets further down, which would not be seen in a text that was made of it. */
function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value, MAX_TEXT_LENGTH);
  try {
    const text = JSON.stringify(value);
    return text === undefined || text.length > MAX_TEXT_LENGTH ? TOO_LONG : JSON.parse(text);
  } catch {
    return TOO_LONG;
  }
}

/** JSON writes some characters with six. */
function fitting(message: string): string {
  const isShort = JSON.stringify(message.slice(0, SHARE)).length <= SHARE + 2;
  return cut(message, isShort ? SHARE : SHARE / 6);
}
