/**
 * Where a reader of a stream stands: the id of the last batch it has seen.
 *
 * A cursor is bound to its run: `<runId>/<eventId>`. On a route that pins the run the number alone says the same,
 * and a number alone is taken everywhere, as older clients send it.
 */
import { PerdureError } from '../../core/errors.js';
import { isRunId } from '../../core/values/names.js';

export interface Cursor {
  /** Absent in a bare number: whichever run is asked for. */
  runId?: string;
  eventId: number;
}

/** The cursor in `text`; undefined for an empty one, which to an EventSource is none. @throws InvalidLastEventIdError */
export function parseCursor(text: string | string[] | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const match = typeof text === 'string' ? /^(?:([^/]+)\/)?(\d{1,15})$/.exec(text) : null;
  const runId = match?.[1]?.toLowerCase();
  if (!match || (runId !== undefined && !isRunId(runId))) throw invalid();
  return { eventId: Number(match[2]), ...(runId !== undefined && { runId }) };
}

const invalid = () =>
  new PerdureError(
    'InvalidLastEventIdError',
    'The last event id must be one that this stream gave: <runId>/<eventId>, or the number of an event',
  );

/** @throws InvalidLastEventIdError for a cursor of another run than the one that the caller asks for */
export function requireSameRun(cursor: Cursor | undefined, runId: string): void {
  if (cursor?.runId === undefined || cursor.runId === runId) return;
  throw new PerdureError('InvalidLastEventIdError', `The last event id is not one of run ${runId}`, {
    runId,
  });
}
