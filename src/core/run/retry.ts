/** Retry policies of steps and workflows: when the next attempt starts, and whether there is one. */

import type { Failure } from '../history/failure.js';
import { isWholeMs } from '../values/duration.js';

export interface RetryPolicy {
  initialIntervalMs: number;
  backoffCoefficient: number;
  maximumIntervalMs: number;
  /** 0 means no limit. */
  maximumAttempts: number;
  nonRetryableErrorTypes: string[];
}

export const DEFAULT_STEP_RETRY: RetryPolicy = {
  initialIntervalMs: 1_000,
  backoffCoefficient: 2,
  maximumIntervalMs: 60_000,
  maximumAttempts: 3,
  nonRetryableErrorTypes: [],
};

export const DEFAULT_START_TO_CLOSE_MS = 20 * 60_000;

/**
 * The wait before attempt `attempt + 1`: initial × coefficient^(attempt − 1), capped. Whole milliseconds, as every
 * instant and duration of the engine is, rounded up so that nothing starts early.
 */
export function backoffMs(policy: RetryPolicy, attempt: number): number {
  // No wait at first is none later either, however large the factor has become.
  if (policy.initialIntervalMs === 0) return 0;
  const uncapped = policy.initialIntervalMs * policy.backoffCoefficient ** (attempt - 1);
  return Math.ceil(Math.min(uncapped, policy.maximumIntervalMs));
}

/** A step may say itself when its next attempt starts, within this: later than that nobody waits for a mere retry. */
export const MAX_RETRY_AFTER_MS = 365 * 86_400_000;

const RETRY_AFTER = Symbol.for('perdure.retryAfter');

/** Says of an error that the next attempt starts after this time; found by whichever copy of this package runs the step. */
export function markRetryAfter(error: object, ms: number): void {
  Object.defineProperty(error, RETRY_AFTER, { value: ms });
}

/** What `markRetryAfter` has said. */
export function retryAfterOf(error: unknown): number | undefined {
  try {
    const ms = (error as { [RETRY_AFTER]?: unknown } | null | undefined)?.[RETRY_AFTER];
    return isRetryAfterMs(ms) ? ms : undefined;
  } catch {
    // Such as a proxy that does not let itself be asked.
    return undefined;
  }
}

export const isRetryAfterMs = (value: unknown): value is number =>
  isWholeMs(value) && value <= MAX_RETRY_AFTER_MS;

export type RetryDecision =
  | { kind: 'retry'; afterMs: number }
  | { kind: 'stop'; state: 'MAXIMUM_ATTEMPTS_REACHED' | 'NON_RETRYABLE_FAILURE' | 'TIMEOUT' };

/**
 * Whether attempt number `attempt`, which gave `failure`, is followed by another that starts before `expiresAt`. What the
 * attempt itself has asked for (`retryAfterMs`) stands in place of the policy's wait.
 */
export function decideRetry(
  policy: RetryPolicy,
  attempt: number,
  failure: Failure,
  now: number,
  expiresAt = Number.POSITIVE_INFINITY,
  retryAfterMs?: number,
): RetryDecision {
  if (failure.nonRetryable || policy.nonRetryableErrorTypes.includes(failure.type)) {
    return { kind: 'stop', state: 'NON_RETRYABLE_FAILURE' };
  }
  if (policy.maximumAttempts > 0 && attempt >= policy.maximumAttempts) {
    return { kind: 'stop', state: 'MAXIMUM_ATTEMPTS_REACHED' };
  }
  const afterMs = retryAfterMs ?? backoffMs(policy, attempt);
  if (now + afterMs >= expiresAt) return { kind: 'stop', state: 'TIMEOUT' };
  return { kind: 'retry', afterMs };
}

/** What a caller is told whose question a run cannot answer before the time of its retry. */
export const waitsForItsRetry = (beginsAt: number): string =>
  `the run waits for its retry, and answers once that has begun at ${new Date(beginsAt).toISOString()}`;
