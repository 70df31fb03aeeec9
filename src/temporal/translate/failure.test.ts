import { ApplicationFailure, defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import type { Failure } from '../../core/history/failure.js';
import { RUN_PAUSED } from '../../core/run/pause.js';
import {
  failureFromProto,
  failureOfRun,
  failureToProto,
  type ProtoFailure,
  traceOfFailure,
} from './failure.js';
import { decoded, toPayload } from './payload.js';

/** As it comes back from a cluster. */
function overTheWire(failure: ProtoFailure): ProtoFailure {
  const { Failure } = (proto as unknown as typeof import('@temporalio/proto')).temporal.api.failure.v1;
  return Failure.decode(Failure.encode(failure).finish());
}

const APPLICATION: Failure = {
  kind: 'application',
  type: 'PaymentError',
  message: 'not enough',
  stackTrace: 'PaymentError: not enough\n    at pay',
  nonRetryable: true,
  properties: { code: 'E', nested: { list: [1, null] } },
  cause: {
    kind: 'application',
    type: 'RangeError',
    message: 'limit',
    cause: { kind: 'timeout', type: 'TimeoutError', message: 'late' },
  },
};

describe('an attempt that was held back while its run was paused', () => {
  const late: ProtoFailure = { message: 'activity timeout', timeoutFailureInfo: { timeoutType: 1 } };
  const timeoutAfter = (cause: ProtoFailure) => failureFromProto(overTheWire({ ...late, cause }));

  test('is not the cause of the failure of a later one', () => {
    const heldBack = ApplicationFailure.create({ type: RUN_PAUSED, message: 'this attempt was not begun' });
    const cause = defaultFailureConverter.errorToFailure(heldBack, defaultPayloadConverter);
    expect(timeoutAfter(cause as ProtoFailure)).not.toHaveProperty('cause');
  });

  test('is told from one that has failed with an error of that name', () => {
    const cause: Failure = { kind: 'application', type: RUN_PAUSED, message: "the author's own" };
    expect(timeoutAfter(failureToProto(cause))).toMatchObject({ cause });
  });
});

describe('a failure of ours', () => {
  test.each<Failure>([
    APPLICATION,
    { kind: 'application', type: 'Error', message: '' },
    { ...APPLICATION, kind: 'step', activityType: 'pay#charge', attempt: 3 },
    {
      kind: 'timeout',
      type: 'TimeoutError',
      message: 'late',
      timeoutType: 'HEARTBEAT',
      activityType: 'w#s',
      attempt: 1,
    },
    { kind: 'cancelled', type: 'CancelledError', message: 'cancelled' },
    { kind: 'terminated', type: 'TerminatedError', message: 'enough' },
    {
      kind: 'child',
      type: 'ChildWorkflowError',
      message: 'child workflow "c" (c-1) failed: no',
      properties: { workflowType: 'c', workflowId: 'c-1' },
      cause: { kind: 'application', type: 'Error', message: 'no' },
    },
  ])('$kind comes back as it was', (failure) => {
    expect(failureFromProto(overTheWire(failureToProto(failure)))).toEqual(failure);
  });

  test('is retried by its type and nonRetryable, whatever its kind', () => {
    const { applicationFailureInfo } = failureToProto({ ...APPLICATION, kind: 'step', activityType: 'w#s' });
    expect(applicationFailureInfo).toMatchObject({ type: 'PaymentError', nonRetryable: true });
  });

  test('says what callers see of it, where servers of other makers look for it', () => {
    const failure: Failure = { ...APPLICATION, kind: 'step', activityType: 'pay#charge', attempt: 3 };
    // As their clients read it.
    const read = defaultFailureConverter.failureToError(
      overTheWire(failureToProto(failure)) as never,
      defaultPayloadConverter,
    );
    expect((read as ApplicationFailure).details?.[0]).toMatchObject({
      error: {
        name: 'PaymentError',
        message: 'not enough',
        activityType: 'pay#charge',
        code: 'E',
        nested: { list: [1, null] },
        cause: { name: 'RangeError', message: 'limit', cause: { name: 'TimeoutError', message: 'late' } },
      },
    });
  });

  test('that is long is not said twice in full', () => {
    const long: Failure = { ...APPLICATION, properties: { rows: 'x'.repeat(150_000) } };
    const sent = overTheWire(failureToProto(long));
    expect(failureFromProto(sent)).toEqual(long);
    const payload = sent.applicationFailureInfo?.details?.payloads?.[0];
    expect(payload?.data?.length).toBeLessThan(160_000);
    expect(decoded(payload)).toMatchObject({
      error: { name: 'PaymentError', cause: { name: 'RangeError' } },
    });
  });

  test('carries the trace of an older run, which is no part of it', () => {
    const sent = overTheWire(failureToProto(APPLICATION, { remote: 's3://a' }));
    expect(traceOfFailure(sent)).toEqual({ remote: 's3://a' });
    expect(failureFromProto(sent)).toEqual(APPLICATION);
  });
});

describe('a failure of another maker, or of Temporal itself', () => {
  const thrown: ProtoFailure = {
    source: 'TypeScriptSDK',
    message: 'no funds',
    applicationFailureInfo: { type: 'CardDeclined', details: { payloads: [toPayload('{"kind":"child"}')] } },
  };

  test('is not read as one of ours', () => {
    expect(failureFromProto(thrown)).toEqual({
      kind: 'application',
      type: 'CardDeclined',
      message: 'no funds',
    });
  });

  test('a step is told by the error of its last attempt', () => {
    const activityFailureInfo = { activityType: { name: 'pay#charge' } };
    expect(failureFromProto({ message: 'Activity task failed', activityFailureInfo, cause: thrown })).toEqual(
      {
        kind: 'step',
        type: 'CardDeclined',
        message: 'no funds',
        activityType: 'pay#charge',
      },
    );
    const stopped = { message: 'stopped', canceledFailureInfo: {} };
    expect(failureFromProto({ activityFailureInfo, cause: stopped })).toEqual({
      kind: 'cancelled',
      type: 'CancelledError',
      message: 'stopped',
    });
    const late = { message: 'late', timeoutFailureInfo: { timeoutType: 1 } };
    expect(failureFromProto({ activityFailureInfo, cause: late })).toEqual({
      kind: 'timeout',
      type: 'TimeoutError',
      timeoutType: 'START_TO_CLOSE',
      message: 'late',
      activityType: 'pay#charge',
    });
  });

  test('a child is told with its id and how it ended', () => {
    const info = { workflowType: { name: 'c' }, workflowExecution: { workflowId: 'c-1' } };
    const child = (cause: ProtoFailure) =>
      failureFromProto({ childWorkflowExecutionFailureInfo: info, cause });
    expect(child(thrown)).toMatchObject({
      kind: 'child',
      message: 'child workflow "c" (c-1) failed: no funds',
      properties: { workflowType: 'c', workflowId: 'c-1' },
      cause: { type: 'CardDeclined' },
    });
    expect(child({ message: 'stop', canceledFailureInfo: {} }).message).toBe(
      'child workflow "c" (c-1) was cancelled: stop',
    );
  });

  describe('with the error that was thrown in its details', () => {
    const ERROR = {
      name: 'CardDeclined',
      message: 'no funds',
      stack: 'CardDeclined: no funds\n    at charge',
      code: 51,
      bank: { id: 'b-1' },
      cause: { name: 'TypeError', message: 'socket closed', cause: 'the line is cut' },
    };
    const withError = (error: unknown, more: ProtoFailure = {}): ProtoFailure => ({
      source: 'TypeScriptSDK',
      message: 'Error in another form',
      applicationFailureInfo: {
        type: 'Error',
        nonRetryable: true,
        details: { payloads: [toPayload('"first"'), toPayload(JSON.stringify({ error }))] },
      },
      // As SDKs convert what was thrown: the same once more.
      cause: { message: 'no funds', applicationFailureInfo: { type: 'CardDeclined' } },
      ...more,
    });
    const FAILURE: Failure = {
      kind: 'application',
      type: 'CardDeclined',
      message: 'no funds',
      nonRetryable: true,
      properties: { code: 51, bank: { id: 'b-1' } },
      cause: {
        kind: 'application',
        type: 'TypeError',
        message: 'socket closed',
        cause: { kind: 'application', type: 'Error', message: 'the line is cut' },
      },
    };

    test('is told by that one, and no cause twice', () => {
      expect(failureFromProto(overTheWire(withError(ERROR)))).toEqual(FAILURE);
    });

    test('a step', () => {
      const activityFailureInfo = { activityType: { name: 'pay#charge' } };
      expect(failureFromProto({ activityFailureInfo, cause: withError(ERROR) })).toEqual({
        ...FAILURE,
        kind: 'step',
        activityType: 'pay#charge',
      });
    });

    test("a workflow's own error that a step has caused names the step", () => {
      const activityFailureInfo = { activityType: { name: 'pay#charge' } };
      const cause = { message: 'own', applicationFailureInfo: {}, cause: { activityFailureInfo } };
      expect(failureFromProto(withError(ERROR, { cause }))).toEqual({
        ...FAILURE,
        activityType: 'pay#charge',
      });
    });

    test("a run whose child failed is told by the child's failure", () => {
      const childWorkflowExecutionFailureInfo = { workflowType: { name: 'c' } };
      const child = { childWorkflowExecutionFailureInfo, cause: withError(ERROR) };
      expect(failureOfRun({ childWorkflowExecutionFailureInfo, cause: child })).toEqual(FAILURE);
      // In the history of its parent it stays what it was.
      expect(failureFromProto(child)).toMatchObject({ kind: 'child', cause: FAILURE });
      expect(failureOfRun({ childWorkflowExecutionFailureInfo })).toMatchObject({ kind: 'child' });
    });

    test.each([[null], ['text'], [['list']], [undefined]])('but not by %j', (error) => {
      const failure = failureFromProto(withError(error));
      expect(failure).toMatchObject({ type: 'Error', message: 'Error in another form' });
    });

    test('and what it does not say is taken from around it', () => {
      expect(failureFromProto(withError({ code: 1, name: 5 }))).toMatchObject({
        type: 'Error',
        message: 'Error in another form',
        properties: { code: 1 },
      });
    });
  });

  test('causes are kept ten deep', () => {
    let deep: ProtoFailure = { message: '20' };
    for (let depth = 19; depth >= 1; depth--) deep = { message: String(depth), cause: deep };
    let count = 0;
    for (let failure: Failure | undefined = failureFromProto(deep); failure; failure = failure.cause) count++;
    expect(count).toBe(10);
  });
});
