/**
 * How long one attempt of a step may take. Both instants are of the cluster's clock: this machine's may be minutes from
 * it. What an attempt has waited for a worker is not known, so the cluster, which counts exactly, may end it earlier.
 */
import type { Info } from '@temporalio/activity';

type Timing = Pick<
  Info,
  | 'startToCloseTimeoutMs'
  | 'scheduleToCloseTimeoutMs'
  | 'scheduledTimestampMs'
  | 'currentAttemptScheduledTimestampMs'
>;

export function attemptTimeoutMs(timing: Timing): number {
  const { scheduleToCloseTimeoutMs, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = timing;
  const startToCloseMs = timing.startToCloseTimeoutMs || Number.POSITIVE_INFINITY;
  const usedMs = Math.max(0, currentAttemptScheduledTimestampMs - scheduledTimestampMs);
  const leftMs = scheduleToCloseTimeoutMs > 0 ? scheduleToCloseTimeoutMs - usedMs : Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(startToCloseMs, leftMs));
}
