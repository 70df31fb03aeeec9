/**
 * Events as they stand in a row of the history. Owns their form on disk, which is also what most of a commit writes:
 * each event is `[instant, number of its type, attributes]`, and its own number follows from that of the row's last one.
 *
 * 1. What was written once can be read for ever: a change of the form is a further form.
 * 2. Step settings that equal `USUAL_SETTINGS` are left out. That is a part of the form, not the default of the day.
 */
import { EVENT_TYPES, type EventTypeName, type HistoryEvent, type StepSettings } from '../core/event.js';

const USUAL_SETTINGS: StepSettings = {
  startToCloseTimeoutMs: 20 * 60_000,
  retry: {
    initialIntervalMs: 1_000,
    backoffCoefficient: 2,
    maximumIntervalMs: 60_000,
    maximumAttempts: 3,
    nonRetryableErrorTypes: [],
  },
};

type Stored = [at: number, type: number, attributes: HistoryEvent['attributes']];

const NAMES = new Map<number, EventTypeName>(
  Object.entries(EVENT_TYPES).map(([name, number]) => [number, name as EventTypeName]),
);

/** Put together by hand: JSON.stringify takes twice the time for many small values. */
export function encodeEvents(events: readonly HistoryEvent[]): string {
  let text = '';
  for (const event of events) {
    const attributes = JSON.stringify(storedAttributes(event));
    text += `${text === '' ? '[' : ','}[${event.at},${EVENT_TYPES[event.type]},${attributes}]`;
  }
  return `${text}]`;
}

export function decodeEvents(text: string, lastEventId: number): HistoryEvent[] {
  const stored = JSON.parse(text) as Stored[] | HistoryEvent[];
  const first = lastEventId - stored.length + 1;
  return stored.map((each, index) => (Array.isArray(each) ? decode(each, first + index) : each));
}

function storedAttributes({ type, attributes }: HistoryEvent): object {
  if (type !== 'ACTIVITY_TASK_SCHEDULED' || !isUsual(attributes.settings)) return attributes;
  const { activityId, activityType, stepName, input, handedOut } = attributes;
  return { activityId, activityType, stepName, input, handedOut };
}

function decode([at, number, attributes]: Stored, id: number): HistoryEvent {
  const event = { id, at, type: NAMES.get(number), attributes } as HistoryEvent;
  if (event.type === 'ACTIVITY_TASK_SCHEDULED') event.attributes.settings ??= USUAL_SETTINGS;
  return event;
}

function isUsual(settings: StepSettings): boolean {
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
