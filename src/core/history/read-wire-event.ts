/**
 * Histories as the API gives them (`wire-event.ts`), read back into events that code can be replayed against. The numbers
 * of children and outgoing messages are not on the wire; whoever compares them takes that for any number.
 */

import type { Payload } from '../values/json.js';
import { EVENT_TYPES, type EventTypeName, type HistoryEvent } from './event.js';
import type { Failure } from './failure.js';
import { ATTRIBUTES_KEYS, type FailureDetails, kindOfFailure } from './wire-event.js';

/** What was given is no history; the message is for whoever gave it. */
export class HistoryFormatError extends Error {
  override readonly name = 'HistoryFormatError';
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The events of one run: from a page of the API, from several pages in a row, or from a list of events.
 * @throws HistoryFormatError
 */
export function readHistory(history: unknown): HistoryEvent[] {
  const events = wireEventsOf(history).map(readEvent);
  if (events.length === 0) throw new HistoryFormatError('the history has no events');
  events.forEach((event, at) => {
    if (event.id === at + 1) return;
    throw new HistoryFormatError(
      at === 0
        ? `the history begins with event ${event.id}: give all of it, from event 1`
        : `event ${event.id} of the history follows event ${at}: give all events of one run, in order`,
    );
  });
  const first = events[0]!;
  if (first.type !== 'WORKFLOW_EXECUTION_STARTED') {
    throw new HistoryFormatError(`the history begins with ${first.type} and not with the start of a run`);
  }
  return events;
}

function wireEventsOf(history: unknown): unknown[] {
  if (Array.isArray(history)) {
    refuseUnfinished(history.at(-1));
    return history.flatMap((each) => (isObject(each) && Array.isArray(each.events) ? each.events : [each]));
  }
  if (!isObject(history) || !Array.isArray(history.events)) {
    throw new HistoryFormatError(
      'this is no history: give what GET /workflow/{id}/history?includePayloads=true answers, or its events',
    );
  }
  refuseUnfinished(history);
  return history.events;
}

/** Code that asks for what is on the next page would be said not to fit. @throws HistoryFormatError */
function refuseUnfinished(lastPage: unknown): void {
  if (!isObject(lastPage) || typeof lastPage.nextPageToken !== 'string') return;
  throw new HistoryFormatError(
    'this is a page of a history and not the last one: ask for the others with its nextPageToken (up to 1000 events are on one page with pageSize=1000), and give all of them as a list',
  );
}

function readEvent(wire: unknown, at: number): HistoryEvent {
  const refuse = (what: string) => new HistoryFormatError(`entry ${at + 1} of the history ${what}`);
  if (!isObject(wire)) throw refuse('is no event');
  const id = Number(wire.eventId);
  if (!Number.isSafeInteger(id) || id < 1) throw refuse('has no eventId');
  const type = wire.eventTypeName as EventTypeName;
  if (typeof type !== 'string' || !Object.hasOwn(EVENT_TYPES, type))
    throw refuse('has no eventTypeName that is known');
  const time = Date.parse(String(wire.eventTime));
  if (Number.isNaN(time)) throw refuse('has no eventTime');
  const attributes = wire[ATTRIBUTES_KEYS[type]] ?? {};
  if (!isObject(attributes)) throw refuse(`has no ${ATTRIBUTES_KEYS[type]}`);
  if (PAYLOAD_OF[type] !== undefined && attributes[PAYLOAD_OF[type]] === undefined && !attributes.failure) {
    throw refuse(`(${type}) has no ${PAYLOAD_OF[type]}: ask for the history with includePayloads=true`);
  }
  return { id, at: time, type, attributes: readAttributes(type, attributes) } as HistoryEvent;
}

/** What an event has when payloads were asked for. */
const PAYLOAD_OF: Partial<Record<EventTypeName, string>> = {
  WORKFLOW_EXECUTION_STARTED: 'input',
  WORKFLOW_EXECUTION_SIGNALED: 'input',
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: 'input',
  ACTIVITY_TASK_SCHEDULED: 'input',
  ACTIVITY_TASK_COMPLETED: 'result',
  ACTIVITY_TASK_FAILED: 'failure',
  ACTIVITY_TASK_TIMED_OUT: 'failure',
  CHILD_WORKFLOW_EXECUTION_COMPLETED: 'result',
  CHILD_WORKFLOW_EXECUTION_FAILED: 'failure',
};

function readAttributes(type: EventTypeName, wire: Json): Json {
  const read: Json = {};
  for (const [key, value] of Object.entries(wire)) {
    const reader = READERS[key];
    if (reader) reader(read, value, type);
    else read[key] = value;
  }
  if (wire.failure !== undefined) {
    const [details] = Array.isArray(wire.details) ? (wire.details as FailureDetails[]) : [];
    read.failure = failureOf(wire.failure, type, details);
  }
  return read;
}

type Reader = (read: Json, value: unknown, type: EventTypeName) => void;

const eventId =
  (key: string): Reader =>
  (read, value) => {
    read[key] = Number(value);
  };
const milliseconds =
  (key: string): Reader =>
  (read, value) => {
    // As "1.5s".
    read[key] = Math.round(Number.parseFloat(String(value)) * 1_000);
  };
const nameOf = (value: unknown): unknown => (isObject(value) ? value.name : value);
const payloads = (value: unknown): Payload[] =>
  Array.isArray(value) ? value.map((each) => JSON.stringify(each)) : [];

const READERS: Record<string, Reader> = {
  ...Object.fromEntries(
    [
      'acceptedEventId',
      'childInitiatedEventId',
      'initiatedEventId',
      'latestCancelRequestedEventId',
      'scheduledEventId',
      'startedEventId',
    ].map((key) => [key, eventId(key)]),
  ),
  startToFireTimeout: milliseconds('startToFireTimeoutMs'),
  activityType: (read, value) => {
    read.activityType = nameOf(value);
  },
  workflowType: (read, value) => {
    read.workflowType = nameOf(value);
  },
  taskQueue: (read, value) => {
    read.catalog = nameOf(value);
  },
  input: (read, value) => {
    read.input = payloads(value);
  },
  result: (read, value) => {
    const [result] = payloads(value);
    if (result !== undefined) read.result = result;
  },
  details: (read, value) => {
    read.details = Array.isArray(value) ? payloads(value)[0] : value;
  },
  parentWorkflowExecution: (read, value) => {
    read.parent = { ...(read.parent as object), ...(value as object), depth: 0 };
  },
  parentInitiatedEventId: (read, value) => {
    read.parent = { ...(read.parent as object), initiatedEventId: Number(value) };
  },
  workflowExecution: (read, value, type) => {
    if (/^(SIGNAL|REQUEST_CANCEL)_EXTERNAL_/.test(type)) {
      read.workflowId = (value as { workflowId?: unknown } | null)?.workflowId;
    } else read.workflowExecution = value;
  },
  workflowTime: (read, value) => {
    read.workflowTime = Date.parse(String(value));
  },
};

function failureOf(wire: unknown, type: EventTypeName, given?: FailureDetails): Failure {
  const { message, type: name = 'Error', stackTrace, cause } = isObject(wire) ? wire : {};
  const { cause: causeDetails, ...more } = given ?? {};
  return {
    kind: kindOfFailure(String(name), type),
    type: String(name),
    message: String(message ?? ''),
    ...(typeof stackTrace === 'string' && { stackTrace }),
    ...more,
    ...(isObject(cause) && { cause: failureOf(cause, 'UNSPECIFIED', causeDetails) }),
  };
}
