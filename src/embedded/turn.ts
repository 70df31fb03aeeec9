/**
 * Turns' commands to events. Pure: given the state of a run and the commands of a turn, the events that record them,
 * in order. Carrying out what an event asks for (starting a child, handing out a step) is the engine's work, after
 * all of a turn's events are appended.
 */
import { type Command, isCloseCommand } from '../core/command.js';
import type { NewEvent } from '../core/event.js';
import { newRunId } from '../core/id.js';
import { invariant, unreachable } from '../core/invariant.js';
import type { UpdateRequest } from '../core/task.js';
import type { RunState } from './state.js';

/** The event that records `command`, or undefined when it leaves none. `admitted` are the updates given to the turn. */
export function eventOfCommand(
  state: RunState,
  command: Command,
  admitted: ReadonlyMap<string, UpdateRequest>,
  now: number,
): NewEvent | undefined {
  switch (command.kind) {
    case 'scheduleStep':
      return {
        type: 'ACTIVITY_TASK_SCHEDULED',
        attributes: {
          activityId: command.activityId,
          activityType: `${state.started.workflowType}#${command.stepName}`,
          stepName: command.stepName,
          input: command.input,
          settings: command.settings,
        },
      };
    case 'cancelStep': {
      const scheduledEventId = state.stepByActivityId.get(command.activityId);
      // A step that closed while this turn was under way is still pending here: its event waits in the inbox.
      invariant(
        scheduledEventId !== undefined,
        `run ${state.runId} cancels step ${command.activityId}, which it does not have`,
      );
      return { type: 'ACTIVITY_TASK_CANCEL_REQUESTED', attributes: { scheduledEventId } };
    }
    case 'startTimer':
      return {
        type: 'TIMER_STARTED',
        attributes: { timerId: command.timerId, startToFireTimeoutMs: command.durationMs },
      };
    case 'cancelTimer': {
      const timer = state.timers.get(command.timerId);
      invariant(timer, `run ${state.runId} cancels timer ${command.timerId}, which it does not have`);
      return {
        type: 'TIMER_CANCELED',
        attributes: { timerId: timer.timerId, startedEventId: timer.startedEventId },
      };
    }
    case 'recordPatch':
      return {
        type: 'MARKER_RECORDED',
        attributes: {
          markerName: 'core_patch',
          details: { patchId: command.patchId, deprecated: command.deprecated },
        },
      };
    case 'startChild':
      return {
        type: 'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
        attributes: {
          childSeq: command.childSeq,
          workflowId: command.workflowId,
          workflowType: command.workflowType,
          catalog: command.catalog ?? state.started.catalog,
          input: command.input,
          parentClosePolicy: command.parentClosePolicy,
        },
      };
    case 'signalExternal':
      return {
        type: 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
        attributes: {
          signalSeq: command.signalSeq,
          workflowId: command.workflowId,
          signalName: command.signalName,
          input: command.input,
        },
      };
    case 'cancelExternal': {
      const child = command.childSeq === undefined ? undefined : childBySeq(state, command.childSeq);
      return {
        type: 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
        attributes: {
          cancelSeq: command.cancelSeq,
          workflowId: command.workflowId,
          ...(child && { childInitiatedEventId: child.initiatedEventId }),
        },
      };
    }
    case 'acceptUpdate': {
      const update = admitted.get(command.updateId);
      invariant(update, `run ${state.runId} accepts update ${command.updateId}, which it was not given`);
      return {
        type: 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
        attributes: { updateId: update.updateId, updateName: update.name, input: update.input },
      };
    }
    case 'rejectUpdate':
      return undefined;
    case 'completeUpdate': {
      const acceptedEventId = state.openUpdates.get(command.updateId);
      invariant(
        acceptedEventId !== undefined,
        `run ${state.runId} completes update ${command.updateId}, which it did not accept`,
      );
      return {
        type: 'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
        attributes: {
          updateId: command.updateId,
          acceptedEventId,
          result: command.result,
          failure: command.failure,
        },
      };
    }
    case 'completeRun':
      return { type: 'WORKFLOW_EXECUTION_COMPLETED', attributes: { result: command.result } };
    case 'failRun':
      return { type: 'WORKFLOW_EXECUTION_FAILED', attributes: { failure: command.failure } };
    case 'cancelRun':
      return { type: 'WORKFLOW_EXECUTION_CANCELED', attributes: {} };
    case 'continueAsNew':
      return {
        type: 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
        attributes: {
          newExecutionRunId: newRunId(now),
          workflowType: command.workflowType,
          input: command.input,
        },
      };
    default:
      return unreachable(command);
  }
}

function childBySeq(state: RunState, childSeq: string) {
  for (const child of state.children.values()) if (child.childSeq === childSeq) return child;
  return undefined;
}

/**
 * The first command that does not fit the run, in words, or undefined. Asked before anything is appended, so that a
 * worker that answers nonsense changes nothing.
 */
export function impossibleCommand(
  state: RunState,
  commands: readonly Command[],
  admitted: readonly string[],
): string | undefined {
  const updates = new Set(admitted);
  const open = new Set(state.openUpdates.keys());
  for (const [index, command] of commands.entries()) {
    switch (command.kind) {
      case 'cancelStep':
        if (!state.stepByActivityId.has(command.activityId)) return `cancelStep of ${command.activityId}`;
        break;
      case 'cancelTimer':
        if (!state.timers.has(command.timerId)) return `cancelTimer of ${command.timerId}`;
        break;
      case 'acceptUpdate':
        if (!updates.delete(command.updateId)) return `acceptUpdate of ${command.updateId}`;
        open.add(command.updateId);
        break;
      case 'rejectUpdate':
        if (!updates.delete(command.updateId)) return `rejectUpdate of ${command.updateId}`;
        break;
      case 'completeUpdate':
        if (!open.delete(command.updateId)) return `completeUpdate of ${command.updateId}`;
        break;
      default:
        if (isCloseCommand(command) && index !== commands.length - 1) return `${command.kind} before the end`;
    }
  }
  return undefined;
}
