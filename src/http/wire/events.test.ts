import { describe, expect, it } from 'vitest';
import {
  EVENT_TYPES,
  type EventAttributes,
  type EventTypeName,
  type HistoryEvent,
  UNTRANSLATED_EVENT_TYPES,
  type UntranslatedEvent,
} from '../../core/history/event.js';
import type { Failure } from '../../core/history/failure.js';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import { type NamedStep, nameSteps, wireEvent, workflowMetadata } from './events.js';

const failure: Failure = {
  kind: 'application',
  type: 'CardDeclined',
  message: 'no funds',
  stackTrace: 'CardDeclined: no funds\n    at x',
  nonRetryable: true,
  properties: { code: 51 },
  activityType: 'pay#charge',
  cause: { kind: 'application', type: 'TypeError', message: 'socket closed' },
};
const wireFailure = {
  message: 'no funds',
  type: 'CardDeclined',
  stackTrace: 'CardDeclined: no funds\n    at x',
  cause: { message: 'socket closed', type: 'TypeError', stackTrace: null },
};
/** What code that waits for it may look at, beside that. */
const wireDetails = { nonRetryable: true, properties: { code: 51 }, activityType: 'pay#charge' };
const execution = { workflowId: 'w', runId: 'r' };
const steps = new Map<number, NamedStep>([[5, { activityType: 'pay#charge', stepName: 'charge' }]]);
const named = { activityType: { name: 'pay#charge' }, stepName: 'charge' };
const closedStep = { scheduledEventId: 5, startedEventId: 6 };
const wireClosedStep = { ...named, scheduledEventId: '5', startedEventId: '6' };
const closedChild = {
  initiatedEventId: 5,
  startedEventId: 6,
  workflowExecution: execution,
  workflowType: 'c',
};
const wireClosedChild = {
  initiatedEventId: '5',
  startedEventId: '6',
  workflowExecution: execution,
  workflowType: { name: 'c' },
};
const wireRetry = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '60s',
  maximumAttempts: 3,
  nonRetryableErrorTypes: [],
};

/** What only Temporal writes is passed on as it was recorded. */
const untranslated = Object.fromEntries(
  Object.keys(UNTRANSLATED_EVENT_TYPES).map((type) => [
    type,
    [{ asRecorded: { details: { a: 1 } } }, { details: { a: 1 } }],
  ]),
) as unknown as { [T in UntranslatedEvent]: [EventAttributes[T], object] };

/** Every type of event: what is stored, and what is on the wire with payloads. */
const ALL: { [T in EventTypeName]: [EventAttributes[T], object] } = {
  ...untranslated,
  WORKFLOW_TASK_TIMED_OUT: [
    { scheduledEventId: 2, startedEventId: 3, timeoutType: 'START_TO_CLOSE' },
    { scheduledEventId: '2', startedEventId: '3', timeoutType: 'START_TO_CLOSE' },
  ],
  WORKFLOW_EXECUTION_STARTED: [
    {
      workflowType: 'pay',
      workflowId: 'w',
      catalog: 'default',
      input: ['{"a":1}'],
      attempt: 2,
      firstExecutionRunId: 'r0',
      originalExecutionRunId: 'r1',
      continuedExecutionRunId: 'r0',
      initiator: 'RETRY',
      continuedFailure: failure,
      parent: { ...execution, initiatedEventId: 7, depth: 1 },
      retry: DEFAULT_STEP_RETRY,
      executionTimeoutMs: 60_000,
      executionExpiresAt: 0,
      firstTurnBackoffMs: 1_500,
    },
    {
      workflowType: { name: 'pay' },
      workflowId: 'w',
      taskQueue: { name: 'default' },
      input: [{ a: 1 }],
      attempt: 2,
      firstExecutionRunId: 'r0',
      originalExecutionRunId: 'r1',
      continuedExecutionRunId: 'r0',
      initiator: 'RETRY',
      continuedFailure: wireFailure,
      parentWorkflowExecution: execution,
      parentInitiatedEventId: '7',
      retryPolicy: wireRetry,
      workflowExecutionTimeout: '60s',
      workflowExecutionExpirationTime: '1970-01-01T00:00:00.000Z',
      firstWorkflowTaskBackoff: '1.5s',
    },
  ],
  WORKFLOW_EXECUTION_COMPLETED: [{ result: '0' }, { result: [0] }],
  WORKFLOW_EXECUTION_FAILED: [
    { failure, newExecutionRunId: 'r2' },
    { failure: wireFailure, newExecutionRunId: 'r2' },
  ],
  WORKFLOW_EXECUTION_TIMED_OUT: [{}, {}],
  WORKFLOW_EXECUTION_CANCELED: [{ details: '"why"' }, { details: ['why'] }],
  WORKFLOW_EXECUTION_TERMINATED: [{ reason: 'enough' }, { reason: 'enough' }],
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: [
    { newExecutionRunId: 'r2', workflowType: 'pay', input: [] },
    { newExecutionRunId: 'r2', workflowType: { name: 'pay' }, input: [] },
  ],
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: [{ cause: 'asked' }, { cause: 'asked' }],
  WORKFLOW_EXECUTION_SIGNALED: [
    { signalName: 's', input: ['null'], externalWorkflowExecution: execution },
    { signalName: 's', input: [null], externalWorkflowExecution: execution },
  ],
  WORKFLOW_EXECUTION_UPDATE_ACCEPTED: [
    { updateId: 'u', updateName: 'put', input: ['1'] },
    { updateId: 'u', updateName: 'put', input: [1] },
  ],
  WORKFLOW_EXECUTION_UPDATE_COMPLETED: [
    { updateId: 'u', acceptedEventId: 9, failure },
    { updateId: 'u', acceptedEventId: '9', failure: wireFailure },
  ],
  WORKFLOW_TASK_SCHEDULED: [{ attempt: 1 }, { attempt: 1 }],
  WORKFLOW_TASK_STARTED: [
    { scheduledEventId: 2, suggestContinueAsNew: true, workflowTime: 1 },
    { scheduledEventId: '2', suggestContinueAsNew: true, workflowTime: '1970-01-01T00:00:00.001Z' },
  ],
  WORKFLOW_TASK_COMPLETED: [
    { scheduledEventId: 2, startedEventId: 3 },
    { scheduledEventId: '2', startedEventId: '3' },
  ],
  WORKFLOW_TASK_FAILED: [
    {
      scheduledEventId: 2,
      startedEventId: 3,
      cause: 'RESET_WORKFLOW',
      failure,
      baseRunId: 'a',
      newRunId: 'b',
    },
    {
      scheduledEventId: '2',
      startedEventId: '3',
      cause: 'RESET_WORKFLOW',
      failure: wireFailure,
      baseRunId: 'a',
      newRunId: 'b',
    },
  ],
  ACTIVITY_TASK_SCHEDULED: [
    {
      activityId: '1',
      activityType: 'pay#charge',
      stepName: 'charge',
      input: ['1', '"x"'],
      settings: {
        startToCloseTimeoutMs: 1_000,
        scheduleToCloseTimeoutMs: 2_000,
        scheduleToStartTimeoutMs: 3_000,
        heartbeatTimeoutMs: 500,
        retry: DEFAULT_STEP_RETRY,
      },
      handedOut: true,
    },
    {
      ...named,
      activityId: '1',
      input: [1, 'x'],
      startToCloseTimeout: '1s',
      scheduleToCloseTimeout: '2s',
      scheduleToStartTimeout: '3s',
      heartbeatTimeout: '0.5s',
      retryPolicy: wireRetry,
    },
  ],
  ACTIVITY_TASK_STARTED: [
    { scheduledEventId: 5, attempt: 2, lastFailure: failure },
    { ...named, scheduledEventId: '5', attempt: 2, lastFailure: wireFailure },
  ],
  ACTIVITY_TASK_COMPLETED: [closedStep, { ...wireClosedStep, result: [] }],
  ACTIVITY_TASK_FAILED: [
    { ...closedStep, failure, retryState: 'MAXIMUM_ATTEMPTS_REACHED' },
    {
      ...wireClosedStep,
      failure: wireFailure,
      details: [wireDetails],
      retryState: 'MAXIMUM_ATTEMPTS_REACHED',
    },
  ],
  ACTIVITY_TASK_TIMED_OUT: [
    { ...closedStep, failure, retryState: 'TIMEOUT' },
    {
      ...wireClosedStep,
      failure: wireFailure,
      details: [{ kind: 'application', ...wireDetails }],
      retryState: 'TIMEOUT',
    },
  ],
  ACTIVITY_TASK_CANCEL_REQUESTED: [{ scheduledEventId: 5 }, { ...named, scheduledEventId: '5' }],
  ACTIVITY_TASK_CANCELED: [
    { ...closedStep, latestCancelRequestedEventId: 8, details: '1' },
    { ...wireClosedStep, latestCancelRequestedEventId: '8', details: [1] },
  ],
  TIMER_STARTED: [
    { timerId: '1', startToFireTimeoutMs: 90_000 },
    { timerId: '1', startToFireTimeout: '90s' },
  ],
  TIMER_FIRED: [
    { timerId: '1', startedEventId: 4 },
    { timerId: '1', startedEventId: '4' },
  ],
  TIMER_CANCELED: [
    { timerId: '1', startedEventId: 4 },
    { timerId: '1', startedEventId: '4' },
  ],
  MARKER_RECORDED: [
    { markerName: 'patch', details: { patchId: 'p', deprecated: false } },
    { markerName: 'patch', details: { patchId: 'p', deprecated: false } },
  ],
  START_CHILD_WORKFLOW_EXECUTION_INITIATED: [
    {
      childSeq: '1',
      workflowId: 'c-1',
      workflowType: 'c',
      catalog: 'other',
      input: ['1'],
      parentClosePolicy: 'ABANDON',
    },
    {
      workflowId: 'c-1',
      workflowType: { name: 'c' },
      taskQueue: { name: 'other' },
      input: [1],
      parentClosePolicy: 'ABANDON',
    },
  ],
  START_CHILD_WORKFLOW_EXECUTION_FAILED: [
    { initiatedEventId: 5, workflowId: 'c-1', workflowType: 'c', cause: 'CANCELED' },
    { initiatedEventId: '5', workflowId: 'c-1', workflowType: { name: 'c' }, cause: 'CANCELED' },
  ],
  CHILD_WORKFLOW_EXECUTION_STARTED: [
    { initiatedEventId: 5, workflowExecution: execution, workflowType: 'c' },
    { initiatedEventId: '5', workflowExecution: execution, workflowType: { name: 'c' } },
  ],
  CHILD_WORKFLOW_EXECUTION_COMPLETED: [
    { ...closedChild, result: '[1]' },
    { ...wireClosedChild, result: [[1]] },
  ],
  CHILD_WORKFLOW_EXECUTION_FAILED: [
    { ...closedChild, failure },
    { ...wireClosedChild, failure: wireFailure, details: [wireDetails] },
  ],
  CHILD_WORKFLOW_EXECUTION_CANCELED: [closedChild, wireClosedChild],
  CHILD_WORKFLOW_EXECUTION_TIMED_OUT: [closedChild, wireClosedChild],
  CHILD_WORKFLOW_EXECUTION_TERMINATED: [closedChild, wireClosedChild],
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: [
    { signalSeq: '1', workflowId: 'o', signalName: 's', input: [] },
    { workflowExecution: { workflowId: 'o' }, signalName: 's', input: [] },
  ],
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: [
    { initiatedEventId: 5, workflowId: 'o', cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND' },
    {
      initiatedEventId: '5',
      workflowExecution: { workflowId: 'o' },
      cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
    },
  ],
  EXTERNAL_WORKFLOW_EXECUTION_SIGNALED: [
    { initiatedEventId: 5, workflowExecution: execution },
    { initiatedEventId: '5', workflowExecution: execution },
  ],
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: [
    { cancelSeq: '1', workflowId: 'o', childInitiatedEventId: 3 },
    { workflowExecution: { workflowId: 'o' }, childInitiatedEventId: '3' },
  ],
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: [
    { initiatedEventId: 5, workflowId: 'o', cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND' },
    {
      initiatedEventId: '5',
      workflowExecution: { workflowId: 'o' },
      cause: 'EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND',
    },
  ],
  EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: [
    { initiatedEventId: 5, workflowExecution: execution },
    { initiatedEventId: '5', workflowExecution: execution },
  ],
};

const PAYLOADS = ['input', 'result', 'failure', 'details', 'lastFailure', 'continuedFailure'];

describe('an event on the wire', () => {
  it.each(Object.entries(ALL))('%s', (type, [attributes, expected]) => {
    const event = { id: 57, at: 1_700_000_000_123, type, attributes } as HistoryEvent;
    const key = `${type.toLowerCase().replace(/_./g, (match) => match[1]!.toUpperCase())}EventAttributes`;
    const head = {
      eventId: '57',
      eventType: EVENT_TYPES[type as EventTypeName],
      eventTypeName: type,
      eventTime: '2023-11-14T22:13:20.123Z',
    };
    expect(wireEvent(event, { includePayloads: true, steps })).toEqual({ ...head, [key]: expected });
    const bare = Object.fromEntries(Object.entries(expected).filter(([name]) => !PAYLOADS.includes(name)));
    expect(wireEvent(event, { includePayloads: false, steps })).toEqual({ ...head, [key]: bare });
  });

  it('says so of a payload that cannot be decoded', () => {
    const event = {
      id: 2,
      at: 0,
      type: 'WORKFLOW_EXECUTION_COMPLETED',
      attributes: { result: 'ÿ' },
    } as HistoryEvent;
    expect(wireEvent(event, { includePayloads: true, steps })).toMatchObject({
      workflowExecutionCompletedEventAttributes: { result: [{ _raw: true, encoding: 'json/plain' }] },
    });
  });
});

describe('the names of steps', () => {
  const scheduled = (id: number) => ({
    id,
    at: 0,
    type: 'ACTIVITY_TASK_SCHEDULED',
    attributes: { activityType: `w#s${id}`, stepName: `s${id}` },
  });
  const completed = (id: number, scheduledEventId: number) => ({
    id,
    at: 0,
    type: 'ACTIVITY_TASK_COMPLETED',
    attributes: { scheduledEventId, startedEventId: 1 },
  });

  it('are read again where they stand on an earlier page, close ones together and known ones not at all', async () => {
    const reads: [number, number][] = [];
    const engine = {
      history: async (_run: object, { afterEventId, limit }: { afterEventId: number; limit: number }) => {
        reads.push([afterEventId, limit]);
        const events = Array.from({ length: limit }, (_, i) => scheduled(afterEventId + 1 + i));
        return { runId: 'r', events: events as never, ended: false };
      },
    };
    const events = [
      scheduled(500),
      completed(501, 500),
      completed(502, 10),
      completed(503, 30),
      completed(504, 300),
    ];
    const found = await nameSteps(engine, execution, { events: events as never }, new Map(steps));
    expect(reads).toEqual([
      [9, 21],
      [299, 1],
    ]);
    for (const id of [5, 10, 30, 300, 500]) expect(found.has(id)).toBe(true);
    await nameSteps(engine, execution, { events: events as never }, found);
    expect(reads).toHaveLength(2);
  });
});

it('metadata has its times as ISO texts', () => {
  const run = {
    ...execution,
    workflowType: 'pay',
    catalog: 'default',
    status: 'running' as const,
    startedAt: 0,
    completedAt: null,
    historyLength: 3,
  };
  expect(workflowMetadata(run)).toEqual({
    ...execution,
    status: 'running',
    startTime: '1970-01-01T00:00:00.000Z',
    closeTime: null,
    historyLength: 3,
    taskQueue: 'default',
  });
});
