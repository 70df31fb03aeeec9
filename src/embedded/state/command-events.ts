/**
 * Turns' commands to events. Pure: given the state of a run and the commands of a turn, the events that record them,
 * in order. Carrying out what an event asks for (starting a child, handing out a step) is the engine's work, after
 * all of a turn's events are appended.
 */
import { type Command, isCloseCommand } from '../../core/history/command.js';
import type { NewEvent, StepSettings } from '../../core/history/event.js';
import { invariant, unreachable } from '../../core/invariant.js';
import type { UpdateRequest } from '../../core/task.js';
import { isWholeMs } from '../../core/values/duration.js';
import type { RunState } from './run-state.js';

/** The event that records `command`, or undefined when it leaves none. `requestOf`: of the updates given to the turn. */
export function eventOfCommand(
  state: RunState,
  command: Command,
  requestOf: (updateId: string) => UpdateRequest | undefined,
  newRunId: () => string,
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
      const update = requestOf(command.updateId);
      invariant(update, `run ${state.runId} accepts update ${command.updateId}, which it was not given`);
      return {
        type: 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
        attributes: {
          updateId: update.updateId,
          updateName: update.name,
          input: update.input,
          ...(update.traceContext && { traceContext: update.traceContext }),
        },
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
          newExecutionRunId: newRunId(),
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
 * worker that answers nonsense changes nothing: what passes here, `eventOfCommand` and the state take without a word.
 */
export function impossibleCommand(
  state: RunState,
  commands: readonly Command[],
  admitted: readonly string[],
): string | undefined {
  // What this turn adds to or takes from the run, made when there is something: most turns have one command.
  let newSteps: Set<string> | undefined;
  let newTimers: Set<string> | undefined;
  let endedTimers: Set<string> | undefined;
  let waitingUpdates: Set<string> | undefined;
  let openUpdates: Set<string> | undefined;
  const hasStep = (id: string) => state.stepByActivityId.has(id) || newSteps?.has(id);
  const hasTimer = (id: string) => !endedTimers?.has(id) && (state.timers.has(id) || newTimers?.has(id));
  for (const [index, command] of commands.entries()) {
    switch (command.kind) {
      case 'scheduleStep': {
        if (hasStep(command.activityId)) return `scheduleStep of ${command.activityId} a second time`;
        const wrong = wrongDuration(command.settings);
        if (wrong !== undefined) return `scheduleStep of ${command.activityId} with ${wrong}`;
        newSteps = (newSteps ?? new Set()).add(command.activityId);
        break;
      }
      case 'cancelStep':
        if (!hasStep(command.activityId)) return `cancelStep of ${command.activityId}`;
        break;
      case 'startTimer':
        if (hasTimer(command.timerId)) return `startTimer of ${command.timerId} a second time`;
        if (!isWholeMs(command.durationMs)) return `startTimer of ${command.durationMs} ms`;
        newTimers = (newTimers ?? new Set()).add(command.timerId);
        break;
      case 'cancelTimer':
        if (!hasTimer(command.timerId)) return `cancelTimer of ${command.timerId}`;
        endedTimers = (endedTimers ?? new Set()).add(command.timerId);
        break;
      case 'acceptUpdate':
        waitingUpdates ??= new Set(admitted);
        if (!waitingUpdates.delete(command.updateId)) return `acceptUpdate of ${command.updateId}`;
        openUpdates = (openUpdates ?? new Set(state.openUpdates.keys())).add(command.updateId);
        break;
      case 'rejectUpdate':
        waitingUpdates ??= new Set(admitted);
        if (!waitingUpdates.delete(command.updateId)) return `rejectUpdate of ${command.updateId}`;
        break;
      case 'completeUpdate':
        openUpdates ??= new Set(state.openUpdates.keys());
        if (!openUpdates.delete(command.updateId)) return `completeUpdate of ${command.updateId}`;
        break;
      default:
        if (isCloseCommand(command) && index !== commands.length - 1) return `${command.kind} before the end`;
    }
  }
  return undefined;
}

/** Instants and durations are whole milliseconds wherever they are stored. */
function wrongDuration(settings: StepSettings): string | undefined {
  const { startToCloseTimeoutMs, scheduleToCloseTimeoutMs, scheduleToStartTimeoutMs } = settings;
  const { heartbeatTimeoutMs, retry } = settings;
  if (!isWholeMs(startToCloseTimeoutMs)) return `startToCloseTimeout ${startToCloseTimeoutMs}`;
  if (!isOptionalMs(scheduleToCloseTimeoutMs)) return `scheduleToCloseTimeout ${scheduleToCloseTimeoutMs}`;
  if (!isOptionalMs(scheduleToStartTimeoutMs)) return `scheduleToStartTimeout ${scheduleToStartTimeoutMs}`;
  if (!isOptionalMs(heartbeatTimeoutMs)) return `heartbeatTimeout ${heartbeatTimeoutMs}`;
  if (!isWholeMs(retry.initialIntervalMs)) return `initialInterval ${retry.initialIntervalMs}`;
  if (!isWholeMs(retry.maximumIntervalMs)) return `maximumInterval ${retry.maximumIntervalMs}`;
  return undefined;
}

const isOptionalMs = (value: number | undefined): boolean => value === undefined || isWholeMs(value);
