/**
 * The history vocabulary: Temporal's event types, numbers and attribute names.
 *
 * Owns what an event is in memory and on disk. Does not own how it looks on the wire (http/) nor which
 * event may follow which (embedded/state/run-state.ts).
 *
 * 1. Events of a run are numbered densely from 1 and are never changed once committed.
 * 2. Payloads inside an event are JSON texts (`Payload`); the engine stores and forwards them unread.
 */
import type { Budget } from '../cost/budget.js';
import type { CostRecord } from '../cost/cost.js';
import type { RetryPolicy } from '../run/retry.js';
import type { TraceContext } from '../trace-context.js';
import type { Payload } from '../values/json.js';
import type { Failure } from './failure.js';

/**
 * Events that only Temporal writes. Nothing acts on them, but a history has no gaps, so they are passed on as they
 * were recorded. `UNSPECIFIED` stands for every type that is newer than this list.
 */
export const UNTRANSLATED_EVENT_TYPES = {
  UNSPECIFIED: 0,
  UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: 40,
  WORKFLOW_EXECUTION_UPDATE_REJECTED: 42,
  WORKFLOW_PROPERTIES_MODIFIED_EXTERNALLY: 44,
  ACTIVITY_PROPERTIES_MODIFIED_EXTERNALLY: 45,
  WORKFLOW_PROPERTIES_MODIFIED: 46,
  WORKFLOW_EXECUTION_UPDATE_ADMITTED: 47,
  NEXUS_OPERATION_SCHEDULED: 48,
  NEXUS_OPERATION_STARTED: 49,
  NEXUS_OPERATION_COMPLETED: 50,
  NEXUS_OPERATION_FAILED: 51,
  NEXUS_OPERATION_CANCELED: 52,
  NEXUS_OPERATION_TIMED_OUT: 53,
  NEXUS_OPERATION_CANCEL_REQUESTED: 54,
  WORKFLOW_EXECUTION_OPTIONS_UPDATED: 55,
  NEXUS_OPERATION_CANCEL_REQUEST_COMPLETED: 56,
  NEXUS_OPERATION_CANCEL_REQUEST_FAILED: 57,
  WORKFLOW_EXECUTION_PAUSED: 58,
  WORKFLOW_EXECUTION_UNPAUSED: 59,
  WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED: 60,
} as const;

export const EVENT_TYPES = {
  WORKFLOW_EXECUTION_STARTED: 1,
  WORKFLOW_EXECUTION_COMPLETED: 2,
  WORKFLOW_EXECUTION_FAILED: 3,
  WORKFLOW_EXECUTION_TIMED_OUT: 4,
  WORKFLOW_TASK_SCHEDULED: 5,
  WORKFLOW_TASK_STARTED: 6,
  WORKFLOW_TASK_COMPLETED: 7,
  WORKFLOW_TASK_TIMED_OUT: 8,
  WORKFLOW_TASK_FAILED: 9,
  ACTIVITY_TASK_SCHEDULED: 10,
  ACTIVITY_TASK_STARTED: 11,
  ACTIVITY_TASK_COMPLETED: 12,
  ACTIVITY_TASK_FAILED: 13,
  ACTIVITY_TASK_TIMED_OUT: 14,
  ACTIVITY_TASK_CANCEL_REQUESTED: 15,
  ACTIVITY_TASK_CANCELED: 16,
  TIMER_STARTED: 17,
  TIMER_FIRED: 18,
  TIMER_CANCELED: 19,
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: 20,
  WORKFLOW_EXECUTION_CANCELED: 21,
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: 22,
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: 23,
  EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: 24,
  MARKER_RECORDED: 25,
  WORKFLOW_EXECUTION_SIGNALED: 26,
  WORKFLOW_EXECUTION_TERMINATED: 27,
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: 28,
  START_CHILD_WORKFLOW_EXECUTION_INITIATED: 29,
  START_CHILD_WORKFLOW_EXECUTION_FAILED: 30,
  CHILD_WORKFLOW_EXECUTION_STARTED: 31,
  CHILD_WORKFLOW_EXECUTION_COMPLETED: 32,
  CHILD_WORKFLOW_EXECUTION_FAILED: 33,
  CHILD_WORKFLOW_EXECUTION_CANCELED: 34,
  CHILD_WORKFLOW_EXECUTION_TIMED_OUT: 35,
  CHILD_WORKFLOW_EXECUTION_TERMINATED: 36,
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: 37,
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: 38,
  EXTERNAL_WORKFLOW_EXECUTION_SIGNALED: 39,
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: 41,
  WORKFLOW_EXECUTION_UPDATE_COMPLETED: 43,
  ...UNTRANSLATED_EVENT_TYPES,
} as const;

export type EventTypeName = keyof typeof EVENT_TYPES;
export type UntranslatedEvent = keyof typeof UNTRANSLATED_EVENT_TYPES;

export type ParentClosePolicy = 'ABANDON' | 'REQUEST_CANCEL' | 'TERMINATE';
export type CancellationType = 'TRY_CANCEL' | 'WAIT_CANCELLATION_COMPLETED' | 'ABANDON';
export type TimeoutType = 'START_TO_CLOSE' | 'SCHEDULE_TO_START' | 'SCHEDULE_TO_CLOSE' | 'HEARTBEAT';

export interface Execution {
  workflowId: string;
  runId: string;
}

/** The options of a step as they stand in its scheduled event: durations resolved to milliseconds. */
export interface StepSettings {
  startToCloseTimeoutMs: number;
  scheduleToCloseTimeoutMs?: number;
  scheduleToStartTimeoutMs?: number;
  heartbeatTimeoutMs?: number;
  retry: RetryPolicy;
}

interface ActivityClosed extends Spent {
  scheduledEventId: number;
  startedEventId: number;
}

interface Spent {
  /**
   * What all attempts of the step have said that they spent; at the end of a run, those of the steps that it leaves behind.
   * Absent where nobody said anything. Not part of the wire's event: the cost of a run has a form of its own.
   */
  costs?: CostRecord[];
}

interface ChildClosed {
  initiatedEventId: number;
  startedEventId: number;
  workflowExecution: Execution;
  workflowType: string;
}

/** Attributes by event type; names are Temporal's, ids are numbers here and decimal strings on the wire. */
export interface EventAttributes extends Record<UntranslatedEvent, { asRecorded?: Record<string, unknown> }> {
  WORKFLOW_EXECUTION_STARTED: {
    workflowType: string;
    workflowId: string;
    catalog: string;
    input: Payload[];
    attempt: number;
    firstExecutionRunId: string;
    originalExecutionRunId: string;
    continuedExecutionRunId?: string;
    /** Why the previous run of the chain led to this one. */
    initiator?: 'CONTINUE_AS_NEW' | 'RETRY';
    continuedFailure?: Failure;
    /** Children that a reset has cut off and that no run of the chain has started again since. */
    cutOffChildren?: string[];
    /**
     * `tree` is the first run of the workflow at the root, above all parents, and `hasBudget` says that it has one. Neither
     * is part of the wire's event.
     */
    parent?: Execution & { initiatedEventId: number; depth: number; tree?: string; hasBudget?: true };
    retry?: RetryPolicy;
    executionTimeoutMs?: number;
    /** Absolute end of the whole chain, so that it survives continue-as-new and retry. */
    executionExpiresAt?: number;
    /** The first turn waits this long: the backoff of a workflow retry. */
    firstTurnBackoffMs?: number;
    /** Of the caller who started the chain or its root. */
    traceContext?: TraceContext;
    /** What the chain and its descendants may spend, as it was first given; at the root alone. Not part of the wire's event. */
    budget?: Budget;
  };
  WORKFLOW_EXECUTION_COMPLETED: Spent & { result?: Payload };
  WORKFLOW_EXECUTION_FAILED: Spent & { failure: Failure; newExecutionRunId?: string };
  WORKFLOW_EXECUTION_TIMED_OUT: Spent & { newExecutionRunId?: string };
  WORKFLOW_EXECUTION_CANCELED: Spent & { details?: Payload };
  WORKFLOW_EXECUTION_TERMINATED: Spent & { reason: string; newExecutionRunId?: string };
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: Spent & {
    newExecutionRunId: string;
    workflowType: string;
    input: Payload[];
  };
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: { cause: string };
  WORKFLOW_EXECUTION_SIGNALED: {
    signalName: string;
    input: Payload[];
    externalWorkflowExecution?: Execution;
    traceContext?: TraceContext;
    /** By which a repeat is known; absent where every one counts. */
    requestId?: string;
  };
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: {
    updateId: string;
    updateName: string;
    input: Payload[];
    traceContext?: TraceContext;
  };
  WORKFLOW_EXECUTION_UPDATE_COMPLETED: {
    updateId: string;
    acceptedEventId: number;
    result?: Payload;
    failure?: Failure;
  };
  WORKFLOW_TASK_SCHEDULED: { attempt: number };
  /**
   * `suggestContinueAsNew` is what the turn was told, so that a replay tells the workflow the same. `workflowTime` is what
   * its clock showed, where that is not the time of the event: a worker has begun the turn before the engine knew of it.
   */
  WORKFLOW_TASK_STARTED: { scheduledEventId: number; suggestContinueAsNew?: boolean; workflowTime?: number };
  WORKFLOW_TASK_COMPLETED: { scheduledEventId: number; startedEventId: number };
  WORKFLOW_TASK_TIMED_OUT: { scheduledEventId: number; startedEventId: number; timeoutType: TimeoutType };
  WORKFLOW_TASK_FAILED: {
    scheduledEventId: number;
    startedEventId: number;
    cause: 'NON_DETERMINISTIC_ERROR' | 'WORKFLOW_WORKER_UNHANDLED_FAILURE' | 'RESET_WORKFLOW';
    failure: Failure;
    baseRunId?: string;
    newRunId?: string;
    /** Reset: ids of the children that were asked for in the part of the history that is not kept. Not part of the wire's event. */
    cutOffChildren?: string[];
  };
  ACTIVITY_TASK_SCHEDULED: {
    activityId: string;
    /** `workflow#step`. */
    activityType: string;
    stepName: string;
    input: Payload[];
    settings: StepSettings;
    /** The commit that holds this event also gave the first attempt to a worker. Not part of the wire's event. */
    handedOut?: true;
    /** As at TIMER_STARTED. */
    countsFrom?: number;
  };
  ACTIVITY_TASK_STARTED: { scheduledEventId: number; attempt: number; lastFailure?: Failure };
  ACTIVITY_TASK_COMPLETED: ActivityClosed & { result?: Payload };
  ACTIVITY_TASK_FAILED: ActivityClosed & { failure: Failure; retryState: RetryState };
  ACTIVITY_TASK_TIMED_OUT: ActivityClosed & { failure: Failure; retryState: RetryState };
  ACTIVITY_TASK_CANCEL_REQUESTED: { scheduledEventId: number };
  ACTIVITY_TASK_CANCELED: ActivityClosed & { latestCancelRequestedEventId: number; details?: Payload };
  /**
   * `countsFrom` is the instant by the clock where the event has a later one: the clock was ahead when an event before it
   * was written, and times in a history never go back. Not part of the wire's event.
   */
  TIMER_STARTED: { timerId: string; startToFireTimeoutMs: number; countsFrom?: number };
  TIMER_FIRED: { timerId: string; startedEventId: number };
  TIMER_CANCELED: { timerId: string; startedEventId: number };
  MARKER_RECORDED: { markerName: string; details: { patchId: string; deprecated: boolean } };
  START_CHILD_WORKFLOW_EXECUTION_INITIATED: {
    /** The command's own number in the parent, so that replay can match it. */
    childSeq: string;
    workflowId: string;
    workflowType: string;
    catalog: string;
    input: Payload[];
    parentClosePolicy: ParentClosePolicy;
  };
  START_CHILD_WORKFLOW_EXECUTION_FAILED: {
    initiatedEventId: number;
    workflowId: string;
    workflowType: string;
    cause: 'WORKFLOW_ALREADY_EXISTS' | 'CANCELED';
  };
  CHILD_WORKFLOW_EXECUTION_STARTED: {
    initiatedEventId: number;
    workflowExecution: Execution;
    workflowType: string;
  };
  CHILD_WORKFLOW_EXECUTION_COMPLETED: ChildClosed & { result?: Payload };
  CHILD_WORKFLOW_EXECUTION_FAILED: ChildClosed & { failure: Failure };
  CHILD_WORKFLOW_EXECUTION_CANCELED: ChildClosed;
  CHILD_WORKFLOW_EXECUTION_TIMED_OUT: ChildClosed;
  CHILD_WORKFLOW_EXECUTION_TERMINATED: ChildClosed;
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: {
    /** The command's own number in the sender. */
    signalSeq: string;
    workflowId: string;
    signalName: string;
    input: Payload[];
  };
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: {
    initiatedEventId: number;
    workflowId: string;
    cause: ExternalFailureCause;
  };
  EXTERNAL_WORKFLOW_EXECUTION_SIGNALED: { initiatedEventId: number; workflowExecution: Execution };
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: {
    /** The command's own number in the sender. */
    cancelSeq: string;
    workflowId: string;
    /** Set when the target is this run's own child. */
    childInitiatedEventId?: number;
  };
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: {
    initiatedEventId: number;
    workflowId: string;
    cause: ExternalFailureCause;
  };
  EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: { initiatedEventId: number; workflowExecution: Execution };
}

export type ExternalFailureCause = 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND' | 'SIGNAL_COUNT_LIMIT_EXCEEDED';

export type RetryState =
  | 'MAXIMUM_ATTEMPTS_REACHED'
  | 'NON_RETRYABLE_FAILURE'
  | 'TIMEOUT'
  | 'RETRY_POLICY_NOT_SET'
  | 'CANCEL_REQUESTED';

type AnyEvent = { [T in EventTypeName]: { type: T; attributes: EventAttributes[T] } }[EventTypeName];

/** An event that has no number yet. With `at` it happened before it is recorded, such as the start of a step. */
export type NewEvent = AnyEvent & { at?: number };

export type HistoryEvent = AnyEvent & { id: number; at: number };

export type EventOf<T extends EventTypeName> = Extract<HistoryEvent, { type: T }>;

export const CLOSE_EVENTS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'WORKFLOW_EXECUTION_COMPLETED',
  'WORKFLOW_EXECUTION_FAILED',
  'WORKFLOW_EXECUTION_TIMED_OUT',
  'WORKFLOW_EXECUTION_CANCELED',
  'WORKFLOW_EXECUTION_TERMINATED',
  'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
]);

/** Events that record a command of a turn; in a history they follow WORKFLOW_TASK_COMPLETED in command order. */
export const COMMAND_EVENTS: ReadonlySet<EventTypeName> = new Set<EventTypeName>([
  'ACTIVITY_TASK_SCHEDULED',
  'ACTIVITY_TASK_CANCEL_REQUESTED',
  'TIMER_STARTED',
  'TIMER_CANCELED',
  'MARKER_RECORDED',
  'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
  'WORKFLOW_EXECUTION_COMPLETED',
  'WORKFLOW_EXECUTION_FAILED',
  'WORKFLOW_EXECUTION_CANCELED',
  'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
]);
