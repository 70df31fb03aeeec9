/**
 * Holds the commands of a turn against the events that recorded them. Pure.
 *
 * Replay is right only if the code asks for the same things in the same order; the first difference is reported with
 * the number of the event, what the history has and what the code asked for. Inputs are not compared: code may change
 * what it passes, but not what it does.
 */
import type { Command } from '../../../core/history/command.js';
import type { EventOf, EventTypeName, HistoryEvent } from '../../../core/history/event.js';

export class NonDeterminismError extends Error {
  override readonly name = 'NonDeterminismError';
  /** The first event that does not fit. */
  readonly eventId: number | undefined;
  /** What the history has there, if anything. */
  readonly expected: string | undefined;
  /** What the code asks for, if anything. */
  readonly got: string | undefined;
  constructor(
    message: string,
    { eventId, expected, got }: { eventId?: number; expected?: string; got?: string },
  ) {
    super(message);
    this.eventId = eventId;
    this.expected = expected;
    this.got = got;
  }
}

/** What the run knows about its own earlier events. */
export interface Recorded {
  /** Event `eventId` is the record of `command`: later events refer to it by this number. */
  recorded(command: Command, eventId: number): void;
  /** The activity id of the step that was scheduled by event `scheduledEventId`. */
  activityId(scheduledEventId: number): string | undefined;
}

const RECORD_OF: Record<Exclude<Command['kind'], 'rejectUpdate'>, EventTypeName> = {
  scheduleStep: 'ACTIVITY_TASK_SCHEDULED',
  cancelStep: 'ACTIVITY_TASK_CANCEL_REQUESTED',
  startTimer: 'TIMER_STARTED',
  cancelTimer: 'TIMER_CANCELED',
  recordPatch: 'MARKER_RECORDED',
  startChild: 'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  signalExternal: 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  cancelExternal: 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  acceptUpdate: 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  completeUpdate: 'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
  completeRun: 'WORKFLOW_EXECUTION_COMPLETED',
  failRun: 'WORKFLOW_EXECUTION_FAILED',
  cancelRun: 'WORKFLOW_EXECUTION_CANCELED',
  continueAsNew: 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
};

/** @throws NonDeterminismError */
export function matchCommands(
  commands: readonly Command[],
  events: readonly HistoryEvent[],
  run: Recorded,
): void {
  let at = 0;
  for (const command of commands) {
    if (command.kind === 'rejectUpdate') continue;
    while (events[at] && isDeprecatedMarker(events[at]!) && !isRecordOf(command, events[at]!, run)) at++;
    const event = events[at];
    if (event && isRecordOf(command, event, run)) {
      run.recorded(command, event.id);
      at++;
      continue;
    }
    if (command.kind === 'recordPatch' && command.deprecated) continue;
    // A run that broke a limit was ended by the engine in place of what it asked for.
    if (event?.type === 'WORKFLOW_EXECUTION_FAILED') return;
    const got = describeCommand(command);
    if (event) {
      const expected = describeEvent(event, run);
      throw new NonDeterminismError(
        `event ${event.id} of the history is ${expected}, but the code now asks for: ${got}`,
        { eventId: event.id, expected, got },
      );
    }
    throw new NonDeterminismError(
      `the history ends this turn${after(events)}, but the code now also asks for: ${got}`,
      { eventId: events.at(-1)?.id, got },
    );
  }
  while (events[at] && isDeprecatedMarker(events[at]!)) at++;
  const left = events[at];
  if (left && left.type !== 'WORKFLOW_EXECUTION_FAILED') {
    const expected = describeEvent(left, run);
    throw new NonDeterminismError(
      `event ${left.id} of the history is ${expected}, but the code now asks for nothing more in this turn`,
      { eventId: left.id, expected },
    );
  }
}

const after = (events: readonly HistoryEvent[]): string =>
  events.length === 0 ? ' without asking for anything' : ` after event ${events[events.length - 1]!.id}`;

/** Once a patch is deprecated, code without it is right as well. */
const isDeprecatedMarker = (event: HistoryEvent): boolean =>
  event.type === 'MARKER_RECORDED' && event.attributes.details.deprecated;

function isRecordOf(command: Command, event: HistoryEvent, run: Recorded): boolean {
  if (command.kind === 'rejectUpdate' || RECORD_OF[command.kind] !== event.type) return false;
  switch (command.kind) {
    case 'scheduleStep': {
      const { activityId, stepName } = (event as EventOf<'ACTIVITY_TASK_SCHEDULED'>).attributes;
      return activityId === command.activityId && stepName === command.stepName;
    }
    case 'cancelStep': {
      const { scheduledEventId } = (event as EventOf<'ACTIVITY_TASK_CANCEL_REQUESTED'>).attributes;
      return run.activityId(scheduledEventId) === command.activityId;
    }
    case 'startTimer':
    case 'cancelTimer':
      return (event as EventOf<'TIMER_STARTED' | 'TIMER_CANCELED'>).attributes.timerId === command.timerId;
    case 'recordPatch':
      return (event as EventOf<'MARKER_RECORDED'>).attributes.details.patchId === command.patchId;
    case 'startChild': {
      const child = (event as EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>).attributes;
      return (
        isSameNumber(child.childSeq, command.childSeq) &&
        child.workflowType === command.workflowType &&
        child.workflowId === command.workflowId
      );
    }
    case 'signalExternal': {
      const signal = (event as EventOf<'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>).attributes;
      return (
        isSameNumber(signal.signalSeq, command.signalSeq) &&
        signal.workflowId === command.workflowId &&
        signal.signalName === command.signalName
      );
    }
    case 'cancelExternal': {
      const cancel = (event as EventOf<'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>).attributes;
      return isSameNumber(cancel.cancelSeq, command.cancelSeq) && cancel.workflowId === command.workflowId;
    }
    case 'acceptUpdate':
    case 'completeUpdate':
      return (
        (event as EventOf<'WORKFLOW_EXECUTION_UPDATE_ACCEPTED' | 'WORKFLOW_EXECUTION_UPDATE_COMPLETED'>)
          .attributes.updateId === command.updateId
      );
    case 'completeRun':
    case 'failRun':
    case 'cancelRun':
    case 'continueAsNew':
      return true;
  }
}

/** A history that came over the API lacks some numbers. */
const isSameNumber = (recorded: string | undefined, asked: string): boolean =>
  recorded === undefined || recorded === asked;

function describeCommand(command: Command): string {
  switch (command.kind) {
    case 'scheduleStep':
      return `step "${command.stepName}" (number ${command.activityId})`;
    case 'cancelStep':
      return `the cancellation of step number ${command.activityId}`;
    case 'startTimer':
      return `timer number ${command.timerId} of ${command.durationMs} ms`;
    case 'cancelTimer':
      return `the cancellation of timer number ${command.timerId}`;
    case 'recordPatch':
      return `patch "${command.patchId}"`;
    case 'startChild':
      return `child workflow "${command.workflowType}" with id "${command.workflowId}" (number ${command.childSeq})`;
    case 'signalExternal':
      return `signal "${command.signalName}" to workflow "${command.workflowId}" (number ${command.signalSeq})`;
    case 'cancelExternal':
      return `the cancellation of workflow "${command.workflowId}" (number ${command.cancelSeq})`;
    case 'acceptUpdate':
      return `the acceptance of update ${command.updateId}`;
    case 'rejectUpdate':
      return `the refusal of update ${command.updateId}`;
    case 'completeUpdate':
      return `the completion of update ${command.updateId}`;
    case 'completeRun':
      return 'the completion of the run';
    case 'failRun':
      return `the failure of the run (${command.failure.type}: ${command.failure.message})`;
    case 'cancelRun':
      return 'the end of the run by cancellation';
    case 'continueAsNew':
      return `continuing as new "${command.workflowType}"`;
  }
}

function describeEvent(event: HistoryEvent, run: Recorded): string {
  return `${event.type}${detail(event, run)}`;
}

function detail(event: HistoryEvent, run: Recorded): string {
  switch (event.type) {
    case 'ACTIVITY_TASK_SCHEDULED':
      return ` of step "${event.attributes.stepName}" (number ${event.attributes.activityId})`;
    case 'ACTIVITY_TASK_CANCEL_REQUESTED':
      return ` of step number ${run.activityId(event.attributes.scheduledEventId) ?? '?'}`;
    case 'TIMER_STARTED':
    case 'TIMER_CANCELED':
      return ` of timer number ${event.attributes.timerId}`;
    case 'MARKER_RECORDED':
      return ` of patch "${event.attributes.details.patchId}"`;
    case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
      return ` of child workflow "${event.attributes.workflowType}" with id "${event.attributes.workflowId}" (number ${event.attributes.childSeq})`;
    case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
      return ` of signal "${event.attributes.signalName}" to workflow "${event.attributes.workflowId}" (number ${event.attributes.signalSeq})`;
    case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
      return ` of workflow "${event.attributes.workflowId}" (number ${event.attributes.cancelSeq})`;
    case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
    case 'WORKFLOW_EXECUTION_UPDATE_COMPLETED':
      return ` of update ${event.attributes.updateId}`;
    default:
      return '';
  }
}
