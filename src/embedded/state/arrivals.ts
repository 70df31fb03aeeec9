/** What waits in the inbox has happened: it must not time out, fire or be reported a second time, and a pause holds. */
import type { NewEvent } from '../../core/history/event.js';
import { pauseOrResume, type RunState } from './run-state.js';

export function markArrived(state: RunState, event: NewEvent): void {
  switch (event.type) {
    case 'ACTIVITY_TASK_COMPLETED':
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT':
    case 'ACTIVITY_TASK_CANCELED': {
      const step = state.steps.get(event.attributes.scheduledEventId);
      if (step) step.closing = true;
      return;
    }
    case 'WORKFLOW_EXECUTION_SIGNALED':
      pauseOrResume(state, event.attributes);
      return;
    case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
      state.isStopNews = true;
      state.paused = undefined;
      return;
    case 'TIMER_FIRED': {
      const timer = state.timers.get(event.attributes.timerId);
      if (timer) timer.firing = true;
      return;
    }
    case 'CHILD_WORKFLOW_EXECUTION_COMPLETED':
    case 'CHILD_WORKFLOW_EXECUTION_FAILED':
    case 'CHILD_WORKFLOW_EXECUTION_CANCELED':
    case 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT':
    case 'CHILD_WORKFLOW_EXECUTION_TERMINATED': {
      const child = state.children.get(event.attributes.initiatedEventId);
      if (child) child.closing = true;
      return;
    }
    default:
  }
}
