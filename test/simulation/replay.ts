/** What a turn asks for and what the history records of it, in the same words, so that the two can be compared (I5). */
import type { Command } from '../../src/core/history/command.js';
import type { HistoryEvent } from '../../src/core/history/event.js';

export function askedFor(command: Command): string {
  switch (command.kind) {
    case 'scheduleStep':
      return `step ${command.activityId} ${command.stepName}`;
    case 'cancelStep':
      return `cancelStep ${command.activityId}`;
    case 'startTimer':
      return `timer ${command.timerId}`;
    case 'cancelTimer':
      return `cancelTimer ${command.timerId}`;
    case 'recordPatch':
      return `patch ${command.patchId}`;
    case 'startChild':
      return `child ${command.childSeq} ${command.workflowId}`;
    case 'signalExternal':
      return `tell ${command.signalSeq} ${command.workflowId}`;
    case 'cancelExternal':
      return `cancel ${command.cancelSeq} ${command.workflowId}`;
    case 'acceptUpdate':
    case 'completeUpdate':
      return `${command.kind} ${command.updateId}`;
    case 'completeRun':
      return `completed ${command.result}`;
    case 'continueAsNew':
      return `continued ${command.input[0]}`;
    default:
      return command.kind;
  }
}

/** What the event records, in the same words. What a turn asked for is known by its number, and from here on by its event. */
export function recordedBy(event: HistoryEvent, numbers: Map<number, string>): string {
  switch (event.type) {
    case 'ACTIVITY_TASK_SCHEDULED':
      numbers.set(event.id, event.attributes.activityId);
      return `step ${event.attributes.activityId} ${event.attributes.stepName}`;
    case 'ACTIVITY_TASK_CANCEL_REQUESTED':
      return `cancelStep ${numbers.get(event.attributes.scheduledEventId)}`;
    case 'TIMER_STARTED':
      return `timer ${event.attributes.timerId}`;
    case 'TIMER_CANCELED':
      return `cancelTimer ${event.attributes.timerId}`;
    case 'MARKER_RECORDED':
      return `patch ${event.attributes.details.patchId}`;
    case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
      numbers.set(event.id, event.attributes.childSeq);
      return `child ${event.attributes.childSeq} ${event.attributes.workflowId}`;
    case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
      numbers.set(event.id, event.attributes.signalSeq);
      return `tell ${event.attributes.signalSeq} ${event.attributes.workflowId}`;
    case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
      return `cancel ${event.attributes.cancelSeq} ${event.attributes.workflowId}`;
    case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
      return `acceptUpdate ${event.attributes.updateId}`;
    case 'WORKFLOW_EXECUTION_UPDATE_COMPLETED':
      return `completeUpdate ${event.attributes.updateId}`;
    case 'WORKFLOW_EXECUTION_COMPLETED':
      return `completed ${event.attributes.result}`;
    case 'WORKFLOW_EXECUTION_FAILED':
      return 'failRun';
    case 'WORKFLOW_EXECUTION_CANCELED':
      return 'cancelRun';
    case 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW':
      return `continued ${event.attributes.input[0]}`;
    default:
      return event.type;
  }
}
