/**
 * The steps that are open at a place of a history. What ends a step is told with the step: its name, the attempt, the
 * timeout it exceeded; but only the events that scheduled and started it say so.
 */
import type { HistoryEvent, StepSettings } from '../../core/history/event.js';

export interface OpenStep {
  activityType: string;
  stepName: string;
  settings: StepSettings;
  attempt: number;
}

/** Steps by their scheduled event. */
export type OpenSteps = ReadonlyMap<number, OpenStep>;

/** Makes `steps` those that are open after `event`. */
export function followSteps(steps: Map<number, OpenStep>, event: HistoryEvent): void {
  switch (event.type) {
    case 'ACTIVITY_TASK_SCHEDULED': {
      const { activityType, stepName, settings } = event.attributes;
      steps.set(event.id, { activityType, stepName, settings, attempt: 1 });
      return;
    }
    case 'ACTIVITY_TASK_STARTED': {
      const { scheduledEventId, attempt } = event.attributes;
      const step = steps.get(scheduledEventId);
      if (step) steps.set(scheduledEventId, { ...step, attempt });
      return;
    }
    case 'ACTIVITY_TASK_COMPLETED':
    case 'ACTIVITY_TASK_FAILED':
    case 'ACTIVITY_TASK_TIMED_OUT':
    case 'ACTIVITY_TASK_CANCELED':
      steps.delete(event.attributes.scheduledEventId);
      return;
    default:
  }
}
