/**
 * Events as they stand in a row of the history. Owns their form on disk, which is also what most of a commit writes:
 * each event is `[instant, number of its type, attributes]`, and its own number follows from that of the row's last one.
 *
 * 1. What was written once can be read for ever: a change of the form is a further form.
 * 2. A row is bounded in events and in size, whatever one commit has to store.
 * 3. Step settings that equal `USUAL_SETTINGS` are left out. That is a part of the form, not the default of the day.
 */
import {
  EVENT_TYPES,
  type EventTypeName,
  type HistoryEvent,
  type StepSettings,
} from '../../core/history/event.js';
import { invariant } from '../../core/invariant.js';

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

const TYPE_TEXTS = Object.fromEntries(
  Object.entries(EVENT_TYPES).map(([name, number]) => [name, `${number},`]),
) as Record<EventTypeName, string>;

/** Events in one row, so that a page of a long history reads no more than it needs. */
const MAX_EVENTS = 500;

/** Characters after which a row ends: rows stay small beside the longest text that JavaScript can make. */
const MAX_LENGTH = 1024 * 1024;

export interface Piece {
  lastEventId: number;
  text: string;
}

/** The rows that hold the events. Put together by hand: JSON.stringify takes twice the time for many small values. */
export function encodeEvents(events: readonly HistoryEvent[]): Piece[] {
  const pieces: Piece[] = [];
  let text = '';
  let count = 0;
  // Most events of a commit are of one instant, and the text of so large a number takes its time.
  let at = Number.NaN;
  let atText = '';
  for (const event of events) {
    if (event.at !== at) {
      at = event.at;
      atText = `[${at},`;
    }
    text += `${text === '' ? '[' : ','}${atText}${TYPE_TEXTS[event.type]}${attributesText(event)}]`;
    count++;
    if (count >= MAX_EVENTS || text.length >= MAX_LENGTH) {
      pieces.push({ lastEventId: event.id, text: `${text}]` });
      text = '';
      count = 0;
    }
  }
  if (count > 0) pieces.push({ lastEventId: events[events.length - 1]!.id, text: `${text}]` });
  return pieces;
}

export function decodeEvents({ text, lastEventId }: Piece): HistoryEvent[] {
  const stored = JSON.parse(text) as Stored[] | HistoryEvent[];
  const first = lastEventId - stored.length + 1;
  return stored.map((each, index) => (Array.isArray(each) ? decode(each, first + index) : each));
}

/** Two of three events of a run are a few numbers, which are put together in a fifth of the time that JSON.stringify takes. */
function attributesText(event: HistoryEvent): string {
  switch (event.type) {
    case 'WORKFLOW_TASK_SCHEDULED':
      return `{"attempt":${event.attributes.attempt}}`;
    case 'WORKFLOW_TASK_STARTED': {
      const { scheduledEventId, suggestContinueAsNew, workflowTime } = event.attributes;
      const suggests =
        suggestContinueAsNew === undefined ? '' : `,"suggestContinueAsNew":${suggestContinueAsNew}`;
      const time = workflowTime === undefined ? '' : `,"workflowTime":${workflowTime}`;
      return `{"scheduledEventId":${scheduledEventId}${suggests}${time}}`;
    }
    case 'WORKFLOW_TASK_COMPLETED': {
      const { scheduledEventId, startedEventId } = event.attributes;
      return `{"scheduledEventId":${scheduledEventId},"startedEventId":${startedEventId}}`;
    }
    case 'ACTIVITY_TASK_STARTED': {
      const { scheduledEventId, attempt, lastFailure } = event.attributes;
      const failure = lastFailure === undefined ? '' : `,"lastFailure":${JSON.stringify(lastFailure)}`;
      return `{"scheduledEventId":${scheduledEventId},"attempt":${attempt}${failure}}`;
    }
    default:
      return JSON.stringify(storedAttributes(event));
  }
}

function storedAttributes({ type, attributes }: HistoryEvent): object {
  if (type !== 'ACTIVITY_TASK_SCHEDULED' || !isUsual(attributes.settings)) return attributes;
  const { activityId, activityType, stepName, input, handedOut, countsFrom } = attributes;
  return { activityId, activityType, stepName, input, handedOut, countsFrom };
}

function decode([at, number, attributes]: Stored, id: number): HistoryEvent {
  const type = NAMES.get(number);
  invariant(type, `event ${id} is of a type ${number} that is not known`);
  const event = { id, at, type, attributes } as HistoryEvent;
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
