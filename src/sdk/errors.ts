/**
 * The errors that authors throw and catch.
 *
 * A failure in the history becomes one of these (`errorOf`), and one of these that escapes a workflow becomes the same
 * failure again (`toFailure` in core), so a step's error reaches the caller of the workflow unchanged: name, message,
 * own properties, cause.
 */

import type { Failure, FailureKind } from '../core/history/failure.js';
import { MAX_RETRY_AFTER_MS, markRetryAfter } from '../core/run/retry.js';
import { type Duration, DurationError, toMs } from '../core/values/duration.js';

/** The class that was constructed; a bundler may have renamed our own, never the author's. */
const nameOf = (target: { name: string }, own: object, ownName: string): string =>
  target === own ? ownName : target.name;

/** Thrown by a step or workflow when trying again is pointless: it is never retried. */
export class FatalError extends Error {
  readonly nonRetryable = true;
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = nameOf(new.target, FatalError, 'FatalError');
  }
}

/**
 * Thrown by a step that knows when trying again makes sense, such as a service that has said so: the next attempt starts
 * after this time, or at this date, in place of the wait that the retry policy names. The attempt counts like any other.
 *
 * What a service has said may be nonsense. That is no reason to give the step up, which is what an error of the constructor
 * would do: the message says so, and the policy names the wait.
 */
export class RetryAfterError extends Error {
  /** Missing where the time cannot be used. */
  declare readonly retryAfterMs?: number;
  constructor(message: string, retryAfter: Duration | Date, options?: ErrorOptions) {
    const wait = waitOf(retryAfter);
    super(typeof wait === 'number' ? message : `${message} (${wait.problem})`, options);
    this.name = nameOf(new.target, RetryAfterError, 'RetryAfterError');
    if (typeof wait !== 'number') return;
    this.retryAfterMs = wait;
    markRetryAfter(this, wait);
  }
}

/** Milliseconds; a date that has passed means now. */
function waitOf(retryAfter: Duration | Date): number | { problem: string } {
  // Not by its class: a date of another realm is a date as well.
  if (Object.prototype.toString.call(retryAfter) === '[object Date]') {
    const ms = (retryAfter as Date).getTime() - Date.now();
    if (ms <= MAX_RETRY_AFTER_MS) return Math.max(0, Math.ceil(ms));
  } else {
    try {
      const ms = toMs(retryAfter as Duration, 'the time of this RetryAfterError');
      if (ms <= MAX_RETRY_AFTER_MS) return ms;
    } catch (error) {
      if (error instanceof DurationError) return { problem: error.message };
      throw error;
    }
  }
  const days = MAX_RETRY_AFTER_MS / 86_400_000;
  return {
    problem: `the time of this RetryAfterError, ${String(retryAfter)}, is no date or more than ${days} days away`,
  };
}

export interface SchemaIssue {
  path: (string | number)[];
  message: string;
  code: string;
}

/** A value does not fit its schema. Never retried: the same value will not fit the next time either. */
export class ValidationError extends FatalError {
  constructor(
    message: string,
    readonly issues: SchemaIssue[] = [],
  ) {
    super(message);
    this.name = nameOf(new.target, ValidationError, 'ValidationError');
  }
}

/** An error that came out of a failure: the base of those that the runtime makes. */
abstract class FailedError extends Error {
  /** Says to `toFailure` what kind of failure this error stands for. */
  abstract readonly failureKind: FailureKind;
}

/** The work was cancelled: by a cancellation scope, or since the whole run was asked to stop. */
export class CancelledError extends FailedError {
  readonly failureKind = 'cancelled';
  constructor(message = 'cancelled') {
    super(message);
    this.name = 'CancelledError';
  }
}

/** A run was terminated. */
export class TerminatedError extends FailedError {
  readonly failureKind = 'terminated';
  constructor(message = 'terminated') {
    super(message);
    this.name = 'TerminatedError';
  }
}

/**
 * Something took longer than it may. A step that timed out rejects with a `StepError` that is an instance of this
 * class as well, so that both ways of asking work.
 */
export class TimeoutError extends FailedError {
  readonly failureKind = 'timeout';
  declare readonly timeoutType?: string;
  constructor(message = 'timed out', timeoutType?: string) {
    super(message);
    this.name = 'TimeoutError';
    if (timeoutType !== undefined) this.timeoutType = timeoutType;
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && (value as { failureKind?: unknown }).failureKind === 'timeout';
  }
}

/**
 * A step failed for good. `name` is the class name of the error that the step threw, and its own properties (such as
 * `code`) are here as well.
 */
export class StepError extends FailedError {
  readonly failureKind: 'step' | 'timeout';
  /** `workflow#step`. */
  readonly activityType: string;
  /** The attempt that gave this error. */
  readonly attempt: number;
  declare readonly timeoutType?: string;
  declare readonly nonRetryable?: true;
  [property: string]: unknown;
  constructor(failure: Failure, activityType: string) {
    super(failure.message);
    this.failureKind = failure.kind === 'timeout' ? 'timeout' : 'step';
    this.activityType = failure.activityType ?? activityType;
    this.attempt = failure.attempt ?? 1;
    describe(this, failure);
  }
}

/** A child workflow did not complete. `cause` is its error: what it threw, or a cancellation, termination or timeout. */
export class ChildWorkflowError extends FailedError {
  readonly failureKind = 'child';
  constructor(
    message: string,
    readonly workflowType: string,
    readonly workflowId: string,
    cause: Error,
  ) {
    super(message, { cause });
    this.name = 'ChildWorkflowError';
  }
}

/** A signal or cancellation request for another workflow could not be delivered. */
export class ExternalWorkflowError extends FailedError {
  readonly failureKind = 'application';
  constructor(
    message: string,
    readonly workflowId: string,
    readonly code: string,
  ) {
    super(message);
    this.name = 'ExternalWorkflowError';
  }
}

/** Workflow code used something whose answer could differ when the run is replayed. The message names the remedy. */
export class DeterminismError extends Error {
  readonly nonRetryable = true;
  constructor(message: string) {
    super(message);
    this.name = 'DeterminismError';
  }
}

/** Something of this package was used where it has no meaning, such as a step at the top level of a file. */
export class UsageError extends Error {
  readonly nonRetryable = true;
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** A definition (`workflow({…})`, `step({…})`) that cannot be used as it stands. */
export class DefinitionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DefinitionError';
  }
}

/** Whether `error` says that work was cancelled, also when a step or child workflow reports it as its cause. */
export function isCancellation(error: unknown): boolean {
  try {
    if (!(error instanceof Error)) return false;
    const kind = (error as { failureKind?: unknown }).failureKind;
    if (kind === 'cancelled') return true;
    return (kind === 'step' || kind === 'child') && isCancellation(error.cause);
  } catch {
    // Such as a proxy that does not let itself be asked: whatever it is, it is none of ours.
    return false;
  }
}

/** The error that `failure` stands for, outside a step or child that would wrap it. */
export function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case 'cancelled':
      return describe(new CancelledError(failure.message), failure);
    case 'terminated':
      return describe(new TerminatedError(failure.message), failure);
    case 'timeout':
      if (failure.activityType === undefined) {
        return describe(new TimeoutError(failure.message, failure.timeoutType), failure);
      }
      return new StepError(failure, failure.activityType);
    case 'step':
      return new StepError(failure, failure.activityType ?? 'unknown');
    case 'child': {
      const { workflowType, workflowId } = failure.properties ?? {};
      const cause = failure.cause ? errorOf(failure.cause) : new Error(failure.message);
      return new ChildWorkflowError(failure.message, String(workflowType), String(workflowId), cause);
    }
    case 'application':
      return describe(new Error(failure.message), failure);
  }
}

/** Gives `error` what the failure knows beside its message. The stack is where it was thrown first, not where it is read. */
function describe<E extends Error>(error: E, failure: Failure): E {
  hidden(error, 'name', failure.type);
  if (failure.stackTrace !== undefined) hidden(error, 'stack', failure.stackTrace);
  if (failure.properties) {
    // The copy belongs to this realm: workflow code must not get hold of objects of the process around it.
    Object.assign(error, JSON.parse(JSON.stringify(failure.properties)));
  }
  if (failure.nonRetryable) Object.assign(error, { nonRetryable: true });
  if (failure.timeoutType !== undefined) Object.assign(error, { timeoutType: failure.timeoutType });
  if (failure.cause) hidden(error, 'cause', errorOf(failure.cause));
  return error;
}

function hidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false });
}
