/** How the event that ends an operation looks to the code that waits for it. Pure. */
import type { Command } from '../../../core/history/command.js';
import type { HistoryEvent } from '../../../core/history/event.js';
import { unreachable } from '../../../core/invariant.js';
import { decodePayload } from '../../../core/values/json.js';
import {
  CancelledError,
  ChildWorkflowError,
  ExternalWorkflowError,
  errorOf,
  StepError,
  TerminatedError,
  TimeoutError,
  UsageError,
} from '../../../sdk/errors.js';
import type { Settle } from '../../../sdk/runtime.js';

/** Settles the operation that `command` started with what `event` says. */
export function settleBy(
  event: HistoryEvent,
  command: Command,
  workflowType: string,
  settle: Settle<unknown>,
): void {
  switch (event.type) {
    case 'TIMER_FIRED':
    case 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED':
    case 'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED':
      settle.resolve(undefined);
      return;
    case 'ACTIVITY_TASK_COMPLETED':
    case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
      settle.resolve(decodePayload(event.attributes.result));
      return;
    default:
      settle.reject(errorOfEvent(event, command, workflowType));
  }
}

function errorOfEvent(event: HistoryEvent, command: Command, workflowType: string): Error {
  switch (event.type) {
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT': {
      const { failure } = event.attributes;
      if (failure.kind === 'cancelled') return errorOf(failure);
      return new StepError(
        failure,
        `${workflowType}#${command.kind === 'scheduleStep' ? command.stepName : '?'}`,
      );
    }
    case 'ACTIVITY_TASK_CANCELED':
      return new CancelledError();
    case 'CHILD_WORKFLOW_EXECUTION_FAILED':
      return childError(command, 'failed', errorOf(event.attributes.failure));
    case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
      return childError(command, 'was cancelled', new CancelledError());
    case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
      return childError(
        command,
        'timed out',
        new TimeoutError('the workflow took longer than its executionTimeout'),
      );
    case 'CHILD_WORKFLOW_EXECUTION_TERMINATED':
      return childError(command, 'was terminated', new TerminatedError());
    case 'START_CHILD_WORKFLOW_EXECUTION_FAILED':
      return event.attributes.cause === 'CANCELED'
        ? childError(command, 'was cancelled before it started', new CancelledError())
        : childError(command, 'was not started', alreadyExists(event.attributes.workflowId));
    case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED':
    case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED': {
      const { workflowId, cause } = event.attributes;
      const why =
        cause === 'SIGNAL_COUNT_LIMIT_EXCEEDED'
          ? 'has received all the signals it may'
          : 'does not exist or is closed';
      return new ExternalWorkflowError(`workflow "${workflowId}" ${why}`, workflowId, cause);
    }
    default:
      return unreachable(event as never);
  }
}

function childError(command: Command, how: string, cause: Error): Error {
  if (command.kind !== 'startChild') return unreachable(command as never);
  const { workflowType, workflowId } = command;
  const message = `child workflow "${workflowType}" (${workflowId}) ${how}: ${cause.message}`;
  return new ChildWorkflowError(message, workflowType, workflowId, cause);
}

function alreadyExists(workflowId: string): Error {
  const error = new UsageError(`the id "${workflowId}" is taken by another run`);
  error.name = 'WorkflowAlreadyExistsError';
  return error;
}
