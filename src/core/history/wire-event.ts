/**
 * History events as they look on the wire. Pure: the same event gives the same text on every route and on both engines.
 *
 * 1. The vocabulary is Temporal's, in the JSON form of its histories: ids that refer to events are decimal strings,
 *    durations are texts such as "1.5s", types are `{ name }`.
 * 2. What user code gave or threw is on the wire only when asked for.
 * 3. Every attribute is named in one table, so that a new one of the engine's own cannot slip out unnoticed.
 */

import { invariant } from '../invariant.js';
import type { RetryPolicy } from '../run/retry.js';
import type { TraceContext } from '../trace-context.js';
import type { Payload } from '../values/json.js';
import {
  EVENT_TYPES,
  type EventAttributes,
  type EventTypeName,
  type Execution,
  type HistoryEvent,
  type StepSettings,
} from './event.js';
import type { Failure, FailureKind } from './failure.js';

export interface WireEvent {
  eventId: string;
  eventType: number;
  eventTypeName: EventTypeName;
  eventTime: string;
  /** `<camelCase>EventAttributes`. */
  [attributes: string]: unknown;
}

export interface NamedStep {
  /** `workflow#step`. */
  activityType: string;
  stepName: string;
}

/** Steps by the number of their scheduled event. */
export type NamedSteps = Map<number, NamedStep>;

export interface WireOptions {
  includePayloads: boolean;
  /** Holds every step that the event refers to. */
  steps: ReadonlyMap<number, NamedStep>;
}

export function wireEvent(event: HistoryEvent, options: WireOptions): WireEvent {
  return {
    eventId: String(event.id),
    eventType: EVENT_TYPES[event.type],
    eventTypeName: event.type,
    eventTime: isoTime(event.at),
    [ATTRIBUTES_KEYS[event.type]]: wireAttributes(event, options),
  };
}

export const ATTRIBUTES_KEYS = Object.fromEntries(
  Object.keys(EVENT_TYPES).map((name) => [
    name,
    `${name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}EventAttributes`,
  ]),
) as Record<EventTypeName, string>;

type StepEvent = Extract<HistoryEvent, { type: `ACTIVITY_TASK_${string}` }>;
type LaterStepEvent = Exclude<StepEvent, { type: 'ACTIVITY_TASK_SCHEDULED' }>;

export function isStepEvent(event: HistoryEvent): event is LaterStepEvent {
  return event.type.startsWith('ACTIVITY_TASK_') && event.type !== 'ACTIVITY_TASK_SCHEDULED';
}

type Attributes = Record<string, unknown>;

function wireAttributes(event: HistoryEvent, options: WireOptions): Attributes {
  const wire: Attributes = {};
  if (isStepEvent(event)) {
    const step = options.steps.get(event.attributes.scheduledEventId);
    invariant(step, `event ${event.id} refers to a step that was not looked up`);
    wire.activityType = { name: step.activityType };
    wire.stepName = step.stepName;
  }
  for (const [key, value] of Object.entries(event.attributes)) {
    if (value === undefined) continue;
    const render = RENDERERS[key as AttributeName];
    invariant(render !== undefined, `the attribute ${key} of ${event.type} has no form on the wire`);
    if (render === INTERNAL || (PAYLOADS.has(render) && !options.includePayloads)) continue;
    render(wire, value as never, key, event.type);
  }
  if (options.includePayloads && ERROR_EVENTS.has(event.type)) {
    const { failure } = event.attributes as { failure?: Failure };
    const more = failure && failureDetails(failure, event.type);
    if (more) wire.details = [more];
  }
  // A value that is not there is an empty list of values, as Temporal has it.
  if (options.includePayloads && RESULT_EVENTS.has(event.type) && !('failure' in wire)) wire.result ??= [];
  return wire;
}

/** Those whose failure the workflow's code gets to see. What it may look at is told beside the failure, for a replay. */
const ERROR_EVENTS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'ACTIVITY_TASK_FAILED',
  'ACTIVITY_TASK_TIMED_OUT',
  'CHILD_WORKFLOW_EXECUTION_FAILED',
]);

const RESULT_EVENTS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'WORKFLOW_EXECUTION_COMPLETED',
  'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
  'ACTIVITY_TASK_COMPLETED',
  'CHILD_WORKFLOW_EXECUTION_COMPLETED',
]);

type AttributeName = { [T in EventTypeName]: keyof EventAttributes[T] }[EventTypeName];
type Renderer = (wire: Attributes, value: never, key: string, type: EventTypeName) => void;

const INTERNAL: Renderer = () => {};
const asIs: Renderer = (wire, value: unknown, key) => {
  wire[key] = value;
};
const eventId: Renderer = (wire, value: number, key) => {
  wire[key] = String(value);
};
const named: Renderer = (wire, value: string, key) => {
  wire[key] = { name: value };
};
const values: Renderer = (wire, value: Payload[], key) => {
  wire[key] = value.map(decoded);
};
const oneValue: Renderer = (wire, value: Payload, key) => {
  wire[key] = [decoded(value)];
};
const failed: Renderer = (wire, value: Failure, key) => {
  wire[key] = wireFailure(value);
};
const details: Renderer = (wire, value: Payload | object, key) => {
  wire[key] = typeof value === 'string' ? [decoded(value)] : value;
};
/** Of events that only Temporal writes. They may hold what user code gave. */
const asRecorded: Renderer = (wire, value: object) => {
  Object.assign(wire, value);
};

/** Those that carry what user code gave or threw. */
const PAYLOADS: ReadonlySet<Renderer> = new Set([values, oneValue, failed, details, asRecorded]);

const RENDERERS: Record<AttributeName, Renderer> = {
  acceptedEventId: eventId,
  activityId: asIs,
  activityType: named,
  asRecorded,
  attempt: asIs,
  baseRunId: asIs,
  budget: INTERNAL,
  cancelSeq: INTERNAL,
  catalog: (wire, value: string) => {
    wire.taskQueue = { name: value };
  },
  cause: asIs,
  childInitiatedEventId: eventId,
  childSeq: INTERNAL,
  continuedExecutionRunId: asIs,
  continuedFailure: failed,
  costs: INTERNAL,
  countsFrom: INTERNAL,
  cutOffChildren: INTERNAL,
  details,
  executionExpiresAt: (wire, value: number) => {
    wire.workflowExecutionExpirationTime = isoTime(value);
  },
  executionTimeoutMs: (wire, value: number) => {
    wire.workflowExecutionTimeout = duration(value);
  },
  externalWorkflowExecution: asIs,
  failure: failed,
  firstExecutionRunId: asIs,
  firstTurnBackoffMs: (wire, value: number) => {
    wire.firstWorkflowTaskBackoff = duration(value);
  },
  handedOut: INTERNAL,
  initiatedEventId: eventId,
  initiator: asIs,
  input: values,
  lastFailure: failed,
  latestCancelRequestedEventId: eventId,
  markerName: asIs,
  newExecutionRunId: asIs,
  newRunId: asIs,
  originalExecutionRunId: asIs,
  parent: (wire, value: EventAttributes['WORKFLOW_EXECUTION_STARTED']['parent'] & Execution) => {
    const { workflowId, runId, initiatedEventId } = value;
    wire.parentWorkflowExecution = { workflowId, runId };
    wire.parentInitiatedEventId = String(initiatedEventId);
  },
  parentClosePolicy: asIs,
  reason: asIs,
  requestId: INTERNAL,
  result: oneValue,
  retry: (wire, value: RetryPolicy) => {
    wire.retryPolicy = retryPolicy(value);
  },
  retryState: asIs,
  scheduledEventId: eventId,
  settings: (wire, value: StepSettings) => {
    wire.startToCloseTimeout = duration(value.startToCloseTimeoutMs);
    if (value.scheduleToCloseTimeoutMs !== undefined)
      wire.scheduleToCloseTimeout = duration(value.scheduleToCloseTimeoutMs);
    if (value.scheduleToStartTimeoutMs !== undefined)
      wire.scheduleToStartTimeout = duration(value.scheduleToStartTimeoutMs);
    if (value.heartbeatTimeoutMs !== undefined) wire.heartbeatTimeout = duration(value.heartbeatTimeoutMs);
    wire.retryPolicy = retryPolicy(value.retry);
  },
  signalName: asIs,
  signalSeq: INTERNAL,
  startToFireTimeoutMs: (wire, value: number) => {
    wire.startToFireTimeout = duration(value);
  },
  startedEventId: eventId,
  stepName: asIs,
  suggestContinueAsNew: asIs,
  timeoutType: asIs,
  timerId: asIs,
  traceContext: (wire, value: TraceContext) => {
    wire.header = { fields: value };
  },
  updateId: asIs,
  updateName: asIs,
  workflowExecution: asIs,
  workflowId: (wire, value: string, key, type) => {
    if (/^(SIGNAL|REQUEST_CANCEL)_EXTERNAL_/.test(type)) wire.workflowExecution = { workflowId: value };
    else wire[key] = value;
  },
  workflowTime: (wire, value: number) => {
    wire.workflowTime = isoTime(value);
  },
  workflowType: named,
};

function wireFailure({ message, type, stackTrace, cause }: Failure): object {
  return { message, type, stackTrace: stackTrace ?? null, ...(cause && { cause: wireFailure(cause) }) };
}

/** What an error has beside what `wireFailure` tells of it; undefined when that is all. */
export type FailureDetails = Pick<
  Failure,
  'nonRetryable' | 'properties' | 'activityType' | 'attempt' | 'timeoutType'
> & { kind?: FailureKind; cause?: FailureDetails };

function failureDetails(failure: Failure, type: EventTypeName): FailureDetails | undefined {
  const { kind, nonRetryable, properties, activityType, attempt, timeoutType } = failure;
  const cause = failure.cause && failureDetails(failure.cause, 'UNSPECIFIED');
  const details: FailureDetails = {
    ...(kind !== kindOfFailure(failure.type, type) && { kind }),
    ...(nonRetryable !== undefined && { nonRetryable }),
    ...(properties !== undefined && { properties }),
    ...(activityType !== undefined && { activityType }),
    ...(attempt !== undefined && { attempt }),
    ...(timeoutType !== undefined && { timeoutType }),
    ...(cause && { cause }),
  };
  return Object.keys(details).length > 0 ? details : undefined;
}

/** What a failure is by the name of its error and its event, unless its details say otherwise. */
export function kindOfFailure(name: string, type: EventTypeName): FailureKind {
  if (type === 'ACTIVITY_TASK_TIMED_OUT') return 'timeout';
  switch (name) {
    case 'CancelledError':
      return 'cancelled';
    case 'TerminatedError':
      return 'terminated';
    case 'TimeoutError':
      return 'timeout';
    default:
      return 'application';
  }
}

function decoded(payload: Payload): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return { _raw: true, encoding: 'json/plain' };
  }
}

function retryPolicy(policy: RetryPolicy): object {
  const { backoffCoefficient, maximumAttempts, nonRetryableErrorTypes } = policy;
  return {
    initialInterval: duration(policy.initialIntervalMs),
    backoffCoefficient,
    maximumInterval: duration(policy.maximumIntervalMs),
    maximumAttempts,
    nonRetryableErrorTypes,
  };
}

const duration = (ms: number): string => `${ms / 1000}s`;
export const isoTime = (at: number): string => new Date(at).toISOString();
