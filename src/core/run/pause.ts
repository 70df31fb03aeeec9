/**
 * Pausing a run: two messages of the service itself, recorded as signals. From the first on the run's turns deliver
 * nothing to its code, until the second comes or the run is asked to stop.
 *
 * What they say together is the fold of a history, the same for the engine, for the turns and for a replay. A request to
 * stop wins over every pause, before or after it, so that it makes no difference in which order a turn learns of both.
 */
import { PerdureError } from '../errors.js';
import type { Payload } from '../values/json.js';
import { cut } from '../values/text.js';

export const PAUSE_SIGNAL = 'perdure.pause';
export const RESUME_SIGNAL = 'perdure.resume';

export const isPauseSignal = (name: string): boolean => name === PAUSE_SIGNAL || name === RESUME_SIGNAL;

/** The type of the failure with which a turn gives back updates that came while its run is paused. */
export const RUN_PAUSED = 'RunPaused';

/** Somebody who operates the service, or the run's own budget. */
export type PausedBy = 'operator' | 'budget';

export interface Paused {
  reason: string;
  /** Epoch milliseconds. */
  since: number;
  by: PausedBy;
}

const NO_REASON = 'no reason given';
/** Every entry of a run list carries it, so what one caller writes there is a cost to all who look. */
export const MAX_PAUSE_REASON = 1_000;
/** The last instant that JavaScript can name: writing down a later one throws. */
const LAST_INSTANT = 8.64e15;

/** What the first of the two carries. The instant is said and not read from the event: not every turn is told that. */
export function pauseArguments({ reason, by, at }: { reason?: string; by: PausedBy; at: number }): Payload[] {
  return [JSON.stringify({ reason: reason?.trim() || NO_REASON, by, at })];
}

/** What the second carries: whose pause it ends, where it is not to end any other. */
export const resumeArguments = (onlyBy?: PausedBy): Payload[] =>
  onlyBy === undefined ? [] : [JSON.stringify({ onlyBy })];

/** What a run is after one of the two, given what it was before. A pause of a paused run changes nothing. */
export function pausedAfter(
  before: Paused | undefined,
  signalName: string,
  input: readonly Payload[],
): Paused | undefined {
  if (signalName === RESUME_SIGNAL) {
    const { onlyBy } = saidIn(input[0]);
    return onlyBy === undefined || before?.by === onlyBy ? undefined : before;
  }
  if (signalName !== PAUSE_SIGNAL) return before;
  const next = readPause(input[0]);
  return before && !takesOver(before, next.by) ? before : next;
}

/** An operator's pause outlasts the budget that has paused the run before: raising that must not undo it. */
export const takesOver = (before: Paused, by: PausedBy): boolean =>
  before.by === 'budget' && by === 'operator';

function readPause(payload: Payload | undefined): Paused {
  const { at: since, ...said } = saidIn(payload);
  return pausedOf({ ...said, since });
}

/** Nothing, where it is no object. */
function saidIn(payload: Payload | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(payload ?? '{}')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Of what was written down by others: anybody who can signal a run of a cluster can say anything. */
export function pausedOf({ reason, since, by }: Record<string, unknown>): Paused {
  return {
    reason: typeof reason === 'string' && reason !== '' ? cut(reason, MAX_PAUSE_REASON) : NO_REASON,
    since: typeof since === 'number' && since > 0 && since <= LAST_INSTANT ? Math.floor(since) : 0,
    by: by === 'budget' ? 'budget' : 'operator',
  };
}

/** What the caller of a pause is told whose run would go on all the same. */
export const isStopping = (run: { workflowId: string; runId: string }): PerdureError =>
  new PerdureError(
    'WorkflowAlreadyClosedError',
    `run ${run.runId} was asked to stop and is closing, which a pause does not hold up; terminate it to end it at once`,
    run,
  );

/** The messages are the service's own: callers have operations for them, which say what became of the run. */
export const PAUSED_BY_CALL =
  'a run is paused and resumed by POST /workflow/{id}/runs/{rid}/pause and .../resume, not by a signal';

export const pausedByCall = (run: { workflowId: string; runId: string }): PerdureError =>
  new PerdureError('HandlerNotFoundError', PAUSED_BY_CALL, run);
