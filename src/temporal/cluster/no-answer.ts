/** What a cluster's workers do not answer: nobody is there, or nobody knows what was asked for. */
import { PerdureError } from '../../core/errors.js';
import type { Failure } from '../../core/history/failure.js';
import { waitsForItsRetry } from '../../core/run/retry.js';
import type { RunRef } from '../../engine.js';

export function silent(catalog: string, waitedMs: number, run: RunRef): PerdureError {
  return new PerdureError(
    'EngineUnavailableError',
    `no worker of catalog "${catalog}" has answered within ${waitedMs} ms`,
    { ...run, retryAfterSeconds: 1 },
  );
}

export function notBegun(run: RunRef, firstTurnAt: number): PerdureError {
  const message = waitsForItsRetry(firstTurnAt);
  return new PerdureError('EngineUnavailableError', message, { ...run, retryAfterSeconds: 1 });
}

/** Ours say so by the type; Temporal's own SDKs only in words. */
export function isMissingHandler({ type, message }: Failure): boolean {
  return (
    type === 'HandlerNotFoundError' ||
    /^(no handler for|the workflow has no) (query|update) "|did not register a handler for|no registered handlers? for|update handler missing/i.test(
      message,
    )
  );
}

/** Whoever was asked has code that does not fit the run's history, or does not have its workflow at all. */
export const isOtherCode = (failure: Failure | undefined): boolean =>
  failure !== undefined && /^(\[TMPRL1100\]|this worker has no workflow ")/.test(failure.message);
