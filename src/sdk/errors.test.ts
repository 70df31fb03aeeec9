import { describe, expect, test } from 'vitest';
import { type Failure, toFailure } from '../core/history/failure.js';
import { retryAfterOf } from '../core/run/retry.js';
import {
  CancelledError,
  ChildWorkflowError,
  errorOf,
  FatalError,
  isCancellation,
  RetryAfterError,
  StepError,
  TimeoutError,
  ValidationError,
} from './errors.js';

describe('errors and failures', () => {
  test.each<Failure>([
    { kind: 'application', type: 'Declined', message: 'no', properties: { code: 7 }, nonRetryable: true },
    { kind: 'cancelled', type: 'CancelledError', message: 'stop' },
    { kind: 'terminated', type: 'TerminatedError', message: 'operator' },
    { kind: 'timeout', type: 'TimeoutError', message: 'slow', timeoutType: 'HEARTBEAT' },
    {
      kind: 'timeout',
      type: 'TimeoutError',
      message: 'slow',
      timeoutType: 'HEARTBEAT',
      activityType: 'w#s',
      attempt: 2,
    },
    {
      kind: 'step',
      type: 'Declined',
      message: 'no',
      activityType: 'w#s',
      attempt: 3,
      properties: { code: 'x' },
    },
    {
      kind: 'child',
      type: 'ChildWorkflowError',
      message: 'child failed',
      properties: { workflowType: 'c', workflowId: 'c-1' },
      cause: { kind: 'step', type: 'Declined', message: 'no', activityType: 'c#s', attempt: 1 },
    },
    { kind: 'application', type: 'A', message: 'a', cause: { kind: 'application', type: 'B', message: 'b' } },
  ])('a failure becomes an error and the same failure again: %j', (failure) => {
    const { stackTrace: _, ...again } = JSON.parse(JSON.stringify(toFailure(errorOf(failure)))) as Failure;
    const withoutStacks = JSON.parse(
      JSON.stringify(again, (key, value) => (key === 'stackTrace' ? undefined : value)),
    );
    expect(withoutStacks).toEqual(failure);
  });

  test('keep the stack of where they were thrown first', () => {
    expect(
      errorOf({ kind: 'application', type: 'E', message: 'm', stackTrace: 'E: m\n    at there' }).stack,
    ).toBe('E: m\n    at there');
  });

  test('subclasses keep their name and are never retried', () => {
    class Declined extends FatalError {
      readonly code = 'E1';
    }
    expect(toFailure(new Declined('no'))).toMatchObject({
      type: 'Declined',
      nonRetryable: true,
      properties: { code: 'E1' },
    });
    expect(toFailure(new FatalError('no'))).toMatchObject({ type: 'FatalError', nonRetryable: true });
    expect(toFailure(new ValidationError('no'))).toMatchObject({
      type: 'ValidationError',
      nonRetryable: true,
    });
    class Mine extends ValidationError {}
    expect(new Mine('x').name).toBe('Mine');
  });

  test('isCancellation looks through steps and children, and through nothing else', () => {
    const cancelled = new CancelledError();
    const failure: Failure = { kind: 'cancelled', type: 'CancelledError', message: '' };
    expect(isCancellation(cancelled)).toBe(true);
    expect(isCancellation(new ChildWorkflowError('', 'c', 'c-1', cancelled))).toBe(true);
    expect(
      isCancellation(new StepError({ kind: 'application', type: 'E', message: '', cause: failure }, 'w#s')),
    ).toBe(true);
    expect(isCancellation(new Error('x', { cause: cancelled }))).toBe(false);
    expect(isCancellation(new TimeoutError())).toBe(false);
    expect(isCancellation('CancelledError')).toBe(false);
  });
});

describe('a RetryAfterError', () => {
  test.each<[string | number | Date, number]>([
    ['30s', 30_000],
    [250, 250],
    [new Date(0), 0],
    ['365 days', 365 * 86_400_000],
  ])('of %s has its wait', (time, ms) => {
    const error = new RetryAfterError('busy', time);
    expect([error.message, error.retryAfterMs, retryAfterOf(error)]).toEqual(['busy', ms, ms]);
  });

  test.each([
    ...[-5, Number.NaN, 1e18, 'soon', '366 days', new Date('nonsense'), new Date(8.64e15)],
    ...[null, undefined, {}],
  ])('of %s is still an error that is tried again, and says what is wrong', (time) => {
    const cause = new Error('429');
    const error = new RetryAfterError('busy', time as never, { cause });
    expect(error).toMatchObject({ name: 'RetryAfterError', cause });
    expect(error.message).toMatch(/^busy \(the time of this RetryAfterError/);
    expect(error).not.toHaveProperty('retryAfterMs');
    expect(error).not.toHaveProperty('nonRetryable');
    expect(retryAfterOf(error)).toBeUndefined();
  });
});
