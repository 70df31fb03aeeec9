/**
 * A failed attempt in the words of both engines. When the next one is due the cluster decides, and tells nobody before it
 * is; it follows from the retry policy as it does here.
 */
import type { Info } from '@temporalio/activity';
import type { Failure } from '../../core/history/failure.js';
import { DEFAULT_STEP_RETRY, decideRetry, type RetryPolicy } from '../../core/run/retry.js';
import type { FailedAttempt } from '../../engine.js';
import { stepNameOf } from '../cluster/conventions.js';

export function failedAttempt(info: Info, failure: Failure, now = Date.now()): FailedAttempt {
  const { workflowId, runId } = info.workflowExecution ?? { workflowId: '', runId: '' };
  const { activityType, attempt, scheduledTimestampMs, scheduleToCloseTimeoutMs } = info;
  const policy = retryOf(info.retryPolicy);
  const expiresAt =
    scheduleToCloseTimeoutMs > 0 ? scheduledTimestampMs + scheduleToCloseTimeoutMs : undefined;
  const decision = decideRetry(policy, attempt, failure, now, expiresAt);
  return {
    ...{ workflowId, runId, workflowType: info.workflowType ?? '', stepName: stepNameOf(activityType) },
    ...{ attempt, failure, maximumAttempts: policy.maximumAttempts },
    nextAttemptAt: decision.kind === 'retry' ? now + decision.afterMs : null,
  };
}

function retryOf(policy: Info['retryPolicy']): RetryPolicy {
  const {
    initialInterval = DEFAULT_STEP_RETRY.initialIntervalMs,
    backoffCoefficient = DEFAULT_STEP_RETRY.backoffCoefficient,
    maximumInterval = DEFAULT_STEP_RETRY.maximumIntervalMs,
    maximumAttempts = 0,
    nonRetryableErrorTypes = [],
  } = policy ?? {};
  return {
    initialIntervalMs: Number(initialInterval),
    backoffCoefficient,
    maximumIntervalMs: Number(maximumInterval),
    maximumAttempts: Number.isFinite(maximumAttempts) ? maximumAttempts : 0,
    nonRetryableErrorTypes,
  };
}
