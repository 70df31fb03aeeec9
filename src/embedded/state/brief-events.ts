/**
 * The short form of the events that are most of a history: what turns and steps usually leave. Whatever follows from an event's
 * number and from what is usual is left out; an event that is unusual in any way is written with all of its attributes.
 *
 * 1. `briefText` writes only what `briefAttributes` reads as the very same attributes.
 * 2. The form is on disk: what is taken for usual here is a part of it, not the default of the day.
 */
import {
  EVENT_TYPES,
  type EventTypeName,
  type HistoryEvent,
  type StepSettings,
} from '../../core/history/event.js';
import type { Payload } from '../../core/values/json.js';

/** As a row has it. */
export type BriefEvent = readonly [later: number, type: number, ...fields: (number | string)[]];

const { stringify } = JSON;

export const TYPE_TEXT = Object.fromEntries(
  Object.entries(EVENT_TYPES).map(([name, number]) => [name, String(number)]),
) as Record<EventTypeName, string>;

/** As it stands in the row, from the number of its type on; undefined of an event that has no short form. */
export function briefText(event: HistoryEvent): string | undefined {
  const { id } = event;
  switch (event.type) {
    case 'WORKFLOW_TASK_SCHEDULED':
      return event.attributes.attempt === 1 ? TYPE_TEXT[event.type] : undefined;
    case 'WORKFLOW_TASK_STARTED': {
      const { scheduledEventId, suggestContinueAsNew, workflowTime } = event.attributes;
      if (scheduledEventId !== id - 1 || suggestContinueAsNew !== undefined) return undefined;
      return workflowTime === undefined ? TYPE_TEXT[event.type] : `${TYPE_TEXT[event.type]},${workflowTime}`;
    }
    case 'WORKFLOW_TASK_COMPLETED': {
      const { scheduledEventId, startedEventId } = event.attributes;
      return scheduledEventId === id - 2 && startedEventId === id - 1 ? TYPE_TEXT[event.type] : undefined;
    }
    case 'ACTIVITY_TASK_SCHEDULED': {
      const { activityId, activityType, stepName, input, settings, handedOut, countsFrom } = event.attributes;
      const isUsual = handedOut === true && countsFrom === undefined && input.length === 1;
      if (!isUsual || !hasUsualSettings(settings)) return undefined;
      return `${TYPE_TEXT[event.type]},${stringify(activityId)},${stringify(activityType)},${stringify(stepName)},${stringify(input[0])}`;
    }
    case 'ACTIVITY_TASK_STARTED': {
      const { scheduledEventId, attempt, lastFailure } = event.attributes;
      if (attempt !== 1 || lastFailure !== undefined) return undefined;
      return `${TYPE_TEXT[event.type]},${id - scheduledEventId}`;
    }
    case 'ACTIVITY_TASK_COMPLETED': {
      const { scheduledEventId, startedEventId, result, costs } = event.attributes;
      if (startedEventId !== id - 1 || costs !== undefined) return undefined;
      const text = `${TYPE_TEXT[event.type]},${id - scheduledEventId}`;
      return result === undefined ? text : `${text},${stringify(result)}`;
    }
    default:
      return undefined;
  }
}

/** The attributes of the event with this number; undefined of a type that has no short form. */
export function briefAttributes(id: number, event: BriefEvent): HistoryEvent['attributes'] | undefined {
  const [, type] = event;
  switch (type) {
    case EVENT_TYPES.WORKFLOW_TASK_SCHEDULED:
      return { attempt: 1 };
    case EVENT_TYPES.WORKFLOW_TASK_STARTED: {
      const workflowTime = event[2] as number | undefined;
      return workflowTime === undefined
        ? { scheduledEventId: id - 1 }
        : { scheduledEventId: id - 1, workflowTime };
    }
    case EVENT_TYPES.WORKFLOW_TASK_COMPLETED:
      return { scheduledEventId: id - 2, startedEventId: id - 1 };
    case EVENT_TYPES.ACTIVITY_TASK_SCHEDULED: {
      const [, , activityId, activityType, stepName, input] = event as BriefStep;
      return {
        activityId,
        activityType,
        stepName,
        input: [input],
        settings: USUAL_SETTINGS,
        handedOut: true,
      };
    }
    case EVENT_TYPES.ACTIVITY_TASK_STARTED:
      return { scheduledEventId: id - (event[2] as number), attempt: 1 };
    case EVENT_TYPES.ACTIVITY_TASK_COMPLETED: {
      const scheduledEventId = id - (event[2] as number);
      const result = event[3] as Payload | undefined;
      return result === undefined
        ? { scheduledEventId, startedEventId: id - 1 }
        : { scheduledEventId, startedEventId: id - 1, result };
    }
    default:
      return undefined;
  }
}

type BriefStep = readonly [number, number, string, string, string, Payload];

export const USUAL_SETTINGS: StepSettings = {
  startToCloseTimeoutMs: 20 * 60_000,
  retry: {
    initialIntervalMs: 1_000,
    backoffCoefficient: 2,
    maximumIntervalMs: 60_000,
    maximumAttempts: 3,
    nonRetryableErrorTypes: [],
  },
};

export function hasUsualSettings(settings: StepSettings): boolean {
  const { retry } = settings;
  return (
    settings.startToCloseTimeoutMs === USUAL_SETTINGS.startToCloseTimeoutMs &&
    settings.scheduleToCloseTimeoutMs === undefined &&
    settings.scheduleToStartTimeoutMs === undefined &&
    settings.heartbeatTimeoutMs === undefined &&
    retry.initialIntervalMs === USUAL_SETTINGS.retry.initialIntervalMs &&
    retry.backoffCoefficient === USUAL_SETTINGS.retry.backoffCoefficient &&
    retry.maximumIntervalMs === USUAL_SETTINGS.retry.maximumIntervalMs &&
    retry.maximumAttempts === USUAL_SETTINGS.retry.maximumAttempts &&
    retry.nonRetryableErrorTypes.length === 0
  );
}
