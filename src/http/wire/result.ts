/**
 * The two forms of a workflow result, as JSON texts.
 *
 * 1. Input and output are JSON texts already and go into the answer as they are, unread: what a workflow returned is
 *    what the caller gets, to the byte, and a large output costs no parsing.
 * 2. Stacks never leave the service.
 */
import { type Failure, MAX_CAUSE_DEPTH } from '../../core/history/failure.js';
import { serializeError } from '../../core/history/serialized-error.js';
import type { ClosedStatus } from '../../core/run/run.js';
import type { RunOutcome } from '../../engine.js';

export function resultText(outcome: RunOutcome): string {
  const failure = failureOf(outcome);
  const execution = `"workflowId":${JSON.stringify(outcome.workflowId)},"runId":${JSON.stringify(outcome.runId)},"status":"${outcome.status}"`;
  const values = `"input":${outcome.input ?? 'null'},"output":${outputOf(outcome)}`;
  const trace = JSON.stringify(outcome.trace);
  if (outcome.format === 'legacy') {
    const destinations = outcome.trace ? `{"destinations":${trace}}` : 'null';
    const message = failure ? JSON.stringify(failure.message) : 'null';
    const details = failure ? JSON.stringify(legacyErrorDetails(failure)) : 'null';
    return `{${execution},${values},"trace":${destinations},"error":${message},"errorDetails":${details}}`;
  }
  const error = failure ? JSON.stringify(serializeError(failure)) : 'null';
  return `{"v":"2",${execution},${values},"trace":${trace},"error":${error}}`;
}

function outputOf(outcome: RunOutcome): string {
  return outcome.status === 'completed' ? (outcome.output ?? 'null') : 'null';
}

/** Runs that ended against their will carry an error too, also where the engine recorded no more than the end. */
const ERROR_OF_END: Partial<Record<ClosedStatus, Failure>> = {
  failed: { kind: 'application', type: 'Error', message: 'The workflow failed' },
  cancelled: { kind: 'cancelled', type: 'CancelledError', message: 'The workflow was cancelled' },
  terminated: { kind: 'terminated', type: 'TerminatedError', message: 'The workflow was terminated' },
  timed_out: { kind: 'timeout', type: 'TimeoutError', message: 'The workflow took longer than it may' },
};

function failureOf(outcome: RunOutcome): Failure | undefined {
  return outcome.status === 'completed' || outcome.status === 'continued_as_new'
    ? undefined
    : (outcome.failure ?? ERROR_OF_END[outcome.status]);
}

function legacyErrorDetails({ kind, type, message, nonRetryable, activityType, cause }: Failure): object {
  return {
    message,
    name: type,
    retryable: kind === 'application' || kind === 'step' ? nonRetryable !== true : null,
    activityId: activityType ?? null,
    cause: cause ? legacyCause(cause, 1) : null,
  };
}

function legacyCause({ type, message, cause }: Failure, depth: number): object {
  const level = { name: type, message };
  return cause && depth < MAX_CAUSE_DEPTH ? { ...level, cause: legacyCause(cause, depth + 1) } : level;
}
