/**
 * About what an event takes on disk and on its way to a worker, known before it is written: all that can be large in it are
 * texts. Quotes within them may take twice as much, for which a frame has room (link/protocol.ts).
 */
import type { EventTypeName, NewEvent } from '../../core/history/event.js';

export function eventBytes({ type, attributes }: Pick<NewEvent, 'type' | 'attributes'>): number {
  return NUMBERS_ONLY.has(type) ? OF_NUMBERS : bytesOf(attributes);
}

/** Half of the events of a run. */
const NUMBERS_ONLY: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'WORKFLOW_TASK_SCHEDULED',
  'WORKFLOW_TASK_STARTED',
  'WORKFLOW_TASK_COMPLETED',
]);
const OF_NUMBERS = 64;

/** Of what is shorter than this, its characters are near enough; most texts are, and measuring each takes its time. */
const SHORT = 100;

/** A number, a name with its quotes, a comma. */
const SMALL = 8;

function bytesOf(value: unknown): number {
  if (typeof value === 'string')
    return SMALL + (value.length < SHORT ? value.length : Buffer.byteLength(value));
  if (typeof value !== 'object' || value === null) return SMALL;
  let bytes = SMALL;
  for (const key in value) bytes += SMALL + bytesOf(value[key as keyof typeof value]);
  return bytes;
}
