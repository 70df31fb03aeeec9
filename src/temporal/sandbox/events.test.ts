import { expect, test } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import { CHILD_ENDED_HEADER } from '../cluster/conventions.js';
import { failureToProto } from '../translate/failure.js';
import { toPayload } from '../translate/payload.js';
import { IncomingEvents } from './events.js';

const BEGINNING = { startedAt: 5, attempt: 1, parent: undefined };
const SETTINGS = { startToCloseTimeoutMs: 300, retry: DEFAULT_STEP_RETRY };
const scheduleStep: Command = {
  kind: 'scheduleStep',
  activityId: '1',
  stepName: 'pack',
  input: [],
  settings: SETTINGS,
};
const startChild: Command = {
  kind: 'startChild',
  childSeq: '1',
  workflowId: 'child-1',
  workflowType: 'child',
  input: [],
  parentClosePolicy: 'ABANDON',
};

const incoming = () => new IncomingEvents('order', 10_000);

test('a step ends by the event that stands for its command', () => {
  const events = incoming();
  events.record({ kind: 'startTimer', timerId: '1', durationMs: 1 });
  const scheduledEventId = events.record(scheduleStep);
  expect(events.pending).toBe(2);
  const [fired, completed] = events.read(
    [
      { fireTimer: { seq: 1 } },
      { resolveActivity: { seq: 1, result: { completed: { result: toPayload('7') } } } },
    ],
    BEGINNING,
  );
  expect(fired).toMatchObject({ type: 'TIMER_FIRED', attributes: { timerId: '1' } });
  expect(completed).toMatchObject({
    type: 'ACTIVITY_TASK_COMPLETED',
    attributes: { scheduledEventId, result: '7' },
  });
  expect(events.pending).toBe(0);
});

test('a step that failed brings its own failure, one that took too long says by which option', () => {
  const events = incoming();
  const failure = failureToProto({ kind: 'application', type: 'TypeError', message: 'no', attempt: 2 });
  const activityFailureInfo = { activityType: { name: 'order#pack' } };
  const endBy = (cause: object) => {
    events.record(scheduleStep);
    const result = { failed: { failure: { activityFailureInfo, cause } } };
    return events.read([{ resolveActivity: { seq: 1, result } }], BEGINNING)[0]!.attributes;
  };
  expect(endBy(failure)).toMatchObject({
    failure: { type: 'TypeError', message: 'no', attempt: 2, activityType: 'order#pack' },
  });
  expect(endBy({ timeoutFailureInfo: { timeoutType: 1 } })).toMatchObject({
    failure: { kind: 'timeout', message: 'step order#pack exceeded its startToCloseTimeout of 300 ms' },
  });
  expect(endBy({ timeoutFailureInfo: { timeoutType: 4 } })).toMatchObject({
    failure: { message: 'the worker that ran step order#pack was not heard of for 10000 ms' },
  });
});

test.each([
  [{ terminatedFailureInfo: {} }, 'CHILD_WORKFLOW_EXECUTION_TERMINATED'],
  [{ timeoutFailureInfo: {} }, 'CHILD_WORKFLOW_EXECUTION_TIMED_OUT'],
  [{ canceledFailureInfo: {} }, 'CHILD_WORKFLOW_EXECUTION_CANCELED'],
  [{ applicationFailureInfo: { type: 'TimeoutError' } }, 'CHILD_WORKFLOW_EXECUTION_FAILED'],
])('a child that did not complete ended in one of four ways (%j)', (cause, type) => {
  const events = incoming();
  const initiatedEventId = events.record(startChild);
  const failure = { childWorkflowExecutionFailureInfo: {}, cause };
  const jobs = [{ resolveChildWorkflowExecution: { seq: 1, result: { failed: { failure } } } }];
  expect(events.read(jobs, BEGINNING)).toMatchObject([{ type, attributes: { initiatedEventId } }]);
});

test('what outlives the run is on its way until the cluster says so', () => {
  const events = incoming();
  events.record({ ...startChild, childSeq: '2', parentClosePolicy: 'REQUEST_CANCEL' });
  expect(events.isOnItsWay).toBe(false);
  events.record(startChild);
  expect(events.isOnItsWay).toBe(true);
  events.read([{ resolveChildWorkflowExecutionStart: { seq: 1, succeeded: { runId: 'r' } } }], BEGINNING);
  expect(events.isOnItsWay).toBe(false);
  events.record({ kind: 'signalExternal', signalSeq: '1', workflowId: 'w', signalName: 's', input: [] });
  expect(events.isOnItsWay).toBe(true);
  const [sent] = events.read([{ resolveSignalExternalWorkflow: { seq: 1 } }], BEGINNING);
  expect(sent!.type).toBe('EXTERNAL_WORKFLOW_EXECUTION_SIGNALED');
  expect(events.isOnItsWay).toBe(false);
});

test('a child that ended while its parent was closed ends by the signal that tells of it, once', () => {
  const events = incoming();
  const initiatedEventId = events.record(startChild);
  const told = {
    workflowId: 'child-1',
    end: 'failed',
    failure: { kind: 'application', type: 'E', message: 'm' },
  };
  const signal = (headers: Record<string, ReturnType<typeof toPayload>>) => ({
    signalWorkflow: { signalName: '$childEnded', input: [toPayload(JSON.stringify(told))], headers },
  });
  const started = { resolveChildWorkflowExecutionStart: { seq: 1, succeeded: { runId: 'r' } } };
  const header = { [CHILD_ENDED_HEADER]: toPayload('true') };
  const [ended, ...rest] = events.read([started, signal(header), signal(header)], BEGINNING);
  expect(ended).toMatchObject({
    type: 'CHILD_WORKFLOW_EXECUTION_FAILED',
    attributes: { initiatedEventId, failure: told.failure },
  });
  expect(rest).toEqual([]);
  // Anybody can send a signal of that name; nobody else has the header.
  expect(events.read([signal({})], BEGINNING)).toMatchObject([{ type: 'WORKFLOW_EXECUTION_SIGNALED' }]);
});
