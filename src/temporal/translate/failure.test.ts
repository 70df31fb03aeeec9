import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import type { Failure } from '../../core/failure.js';
import { failureFromProto, failureToProto, type ProtoFailure, traceOfFailure } from './failure.js';
import { toPayload } from './payload.js';

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

  test('causes are kept ten deep', () => {
    let deep: ProtoFailure = { message: '20' };
    for (let depth = 19; depth >= 1; depth--) deep = { message: String(depth), cause: deep };
    let count = 0;
    for (let failure: Failure | undefined = failureFromProto(deep); failure; failure = failure.cause) count++;
    expect(count).toBe(10);
  });
});
