/** Why a run did not complete, as its closing event says it: the same words on every engine. */
import type { HistoryEvent } from './event.js';
import type { Failure } from './failure.js';

export function failureOfClose(close: HistoryEvent): Failure | undefined {
  switch (close.type) {
    case 'WORKFLOW_EXECUTION_FAILED':
      return close.attributes.failure;
    case 'WORKFLOW_EXECUTION_CANCELED':
      return { kind: 'cancelled', type: 'CancelledError', message: 'the workflow was cancelled' };
    case 'WORKFLOW_EXECUTION_TERMINATED':
      return { kind: 'terminated', type: 'TerminatedError', message: close.attributes.reason };
    case 'WORKFLOW_EXECUTION_TIMED_OUT':
      return {
        kind: 'timeout',
        type: 'TimeoutError',
        message: 'the workflow exceeded its execution timeout',
      };
    default:
      return undefined;
  }
}
