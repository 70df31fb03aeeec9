/** Retry policies of steps and workflows: when the next attempt starts, and whether there is one. */
import type { Failure } from './failure.js';

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

/** The wait before attempt `attempt + 1`: initial × coefficient^(attempt − 1), capped; not rounded to seconds. */
export function backoffMs(policy: RetryPolicy, attempt: number): number {
  const uncapped = policy.initialIntervalMs * policy.backoffCoefficient ** (attempt - 1);
  return Math.min(uncapped, policy.maximumIntervalMs);
}

export type RetryDecision =
  | { kind: 'retry'; afterMs: number }
  | { kind: 'stop'; state: 'MAXIMUM_ATTEMPTS_REACHED' | 'NON_RETRYABLE_FAILURE' | 'TIMEOUT' };

/** Whether attempt number `attempt`, which gave `failure`, is followed by another that starts before `expiresAt`. */
export function decideRetry(
  policy: RetryPolicy,
  attempt: number,
  failure: Failure,
  now: number,
  expiresAt = Number.POSITIVE_INFINITY,
): RetryDecision {
  if (failure.nonRetryable || policy.nonRetryableErrorTypes.includes(failure.type)) {
    return { kind: 'stop', state: 'NON_RETRYABLE_FAILURE' };
  }
  if (policy.maximumAttempts > 0 && attempt >= policy.maximumAttempts) {
    return { kind: 'stop', state: 'MAXIMUM_ATTEMPTS_REACHED' };
  }
  const afterMs = backoffMs(policy, attempt);
  if (now + afterMs >= expiresAt) return { kind: 'stop', state: 'TIMEOUT' };
  return { kind: 'retry', afterMs };
}
