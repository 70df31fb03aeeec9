/**
 * About what an event takes on disk and on its way to a worker, known before it is written: all that can be large in it are
 * texts. Quotes within them may take twice as much, for which a frame has room (link/protocol.ts).
 */
import type { NewEvent } from '../../core/history/event.js';

export function eventBytes({ attributes }: Pick<NewEvent, 'attributes'>): number {
  return bytesOf(attributes);
}

/** A number, a name with its quotes, a comma. */
const SMALL = 8;

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return SMALL + Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return SMALL;
  let bytes = SMALL;
  for (const key in value) bytes += SMALL + bytesOf(value[key as keyof typeof value]);
  return bytes;
}
