/**
 * Failures on Temporal, both ways.
 *
 * A failure of ours is always an application failure: its type and `nonRetryable` are what Temporal's server decides
 * retries by, so that it decides as the embedded engine does, whatever kind of failure it is. The rest is in the first
 * element of the details, and beside it the error as callers see it, for servers of other makers. Failures that
 * Temporal itself or a worker of another maker made have other forms; they become what the embedded engine would have
 * recorded.
 *
 * Runs in Node and inside Temporal's workflow sandbox.
 */
import type { temporal } from '@temporalio/proto';
import { type Failure, type FailureKind, MAX_CAUSE_DEPTH } from '../../core/history/failure.js';
import { serializeError } from '../../core/history/serialized-error.js';
import { RUN_PAUSED } from '../../core/run/pause.js';
import type { FailureDetails } from '../cluster/conventions.js';
import { embeddedError, failureOfEmbedded } from './embedded-error.js';
import { decoded, toPayload } from './payload.js';
import { wellFormed } from './well-formed.js';

export type ProtoFailure = temporal.api.failure.v1.IFailure;

/** Says that the details are those of `FailureDetails`. */
const SOURCE = 'perdure';

/** By the number in Temporal's TimeoutType enum. */
const TIMEOUT_TYPES = [undefined, 'START_TO_CLOSE', 'SCHEDULE_TO_START', 'SCHEDULE_TO_CLOSE', 'HEARTBEAT'];

/** Beyond this a failure is not recorded as it is: a cluster terminates a run for one of 2 MB, and has words for none. */
const MAX_FAILURE_LENGTH = 256 * 1024;
const MAX_CUT_MESSAGE_LENGTH = 20_000;
/** A longer one is said a second time, for servers of other makers, without what only says more about it. */
const MAX_LENGTH_SAID_TWICE = 64 * 1024;

export function failureToProto(failure: Failure, trace?: unknown): ProtoFailure {
  const length = lengthOf(failure);
  const error = serializeError(length > MAX_LENGTH_SAID_TWICE ? cut(failure) : failure);
  const more = { error, ...(trace !== undefined && { trace }) };
  return wellFormed(protoOf(length > MAX_FAILURE_LENGTH ? cut(failure) : failure, more));
}

function lengthOf({ message, stackTrace = '', properties, cause }: Failure): number {
  const own = message.length + stackTrace.length + (properties ? JSON.stringify(properties).length : 0);
  return own + (cause ? lengthOf(cause) : 0);
}

/** What is needed to tell what went wrong. */
function cut({ properties: _, stackTrace: __, ...failure }: Failure): Failure {
  const { message, cause } = failure;
  return {
    ...failure,
    message:
      message.length > MAX_CUT_MESSAGE_LENGTH ? `${message.slice(0, MAX_CUT_MESSAGE_LENGTH)}…` : message,
    ...(cause && { cause: cut(cause) }),
  };
}

function protoOf(failure: Failure, more: Pick<FailureDetails, 'error' | 'trace'> = {}): ProtoFailure {
  const { kind, type, message, stackTrace, nonRetryable, cause } = failure;
  const { properties, activityType, attempt, timeoutType } = failure;
  const details: FailureDetails = {
    ...(kind !== 'application' && { kind }),
    ...(activityType !== undefined && { activityType }),
    ...(attempt !== undefined && { attempt }),
    ...(timeoutType !== undefined && { timeoutType }),
    ...(properties && { properties }),
    ...more,
  };
  const hasDetails = Object.keys(details).length > 0;
  return {
    source: SOURCE,
    message,
    ...(stackTrace !== undefined && { stackTrace }),
    applicationFailureInfo: {
      type,
      nonRetryable: nonRetryable === true,
      ...(hasDetails && { details: { payloads: [toPayload(JSON.stringify(details))] } }),
    },
    ...(cause && { cause: protoOf(cause) }),
  };
}

export function failureFromProto(proto: ProtoFailure, depth = 0): Failure {
  if (proto.activityFailureInfo) return stepFailure(proto, depth);
  if (proto.childWorkflowExecutionFailureInfo) return childFailure(proto, depth);
  const embedded = proto.source === SOURCE ? undefined : embeddedError(proto);
  if (embedded) return failureOfEmbedded(embedded, proto, depth);
  const failure: Failure = { ...kindOf(proto), message: proto.message ?? '' };
  if (proto.stackTrace) failure.stackTrace = proto.stackTrace;
  const info = proto.applicationFailureInfo;
  if (info?.nonRetryable || proto.serverFailureInfo?.nonRetryable) failure.nonRetryable = true;
  if (info && proto.source === SOURCE) Object.assign(failure, ownDetails(proto));
  const cause = causeOf(proto, depth);
  if (cause) failure.cause = cause;
  return failure;
}

/**
 * Why a run failed. Where another maker's run failed since a child of its did, it is told by the child's failure, which
 * the runs of theirs pass on as it is.
 */
export function failureOfRun(proto: ProtoFailure): Failure {
  let told = proto;
  while (told.childWorkflowExecutionFailureInfo && told.cause) told = told.cause;
  return failureFromProto(told);
}

/** What a failed run of the older form says about its trace. */
export function traceOfFailure(proto: ProtoFailure | null | undefined): unknown {
  const details = decoded(proto?.applicationFailureInfo?.details?.payloads?.[0]);
  return isObject(details) ? details.trace : undefined;
}

function kindOf(proto: ProtoFailure): { kind: FailureKind; type: string; timeoutType?: string } {
  if (proto.timeoutFailureInfo) {
    const timeoutType = TIMEOUT_TYPES[proto.timeoutFailureInfo.timeoutType ?? 0];
    return { kind: 'timeout', type: 'TimeoutError', ...(timeoutType && { timeoutType }) };
  }
  if (proto.canceledFailureInfo) return { kind: 'cancelled', type: 'CancelledError' };
  if (proto.terminatedFailureInfo) return { kind: 'terminated', type: 'TerminatedError' };
  if (proto.resetWorkflowFailureInfo) return { kind: 'application', type: 'ResetWorkflow' };
  if (proto.serverFailureInfo) return { kind: 'application', type: 'ServerError' };
  return { kind: 'application', type: proto.applicationFailureInfo?.type || 'Error' };
}

function ownDetails(proto: ProtoFailure): Partial<Failure> {
  const details = decoded(proto.applicationFailureInfo?.details?.payloads?.[0]);
  if (!isObject(details)) return {};
  const { trace: _, error: __, ...own } = details as FailureDetails;
  return own;
}

/** A step's failure is that of its last attempt, told with the step's name: the wrapper has nothing else to say. */
function stepFailure(proto: ProtoFailure, depth: number): Failure {
  const activityType = proto.activityFailureInfo?.activityType?.name ?? undefined;
  if (!proto.cause) return { kind: 'step', type: 'Error', message: proto.message ?? '', activityType };
  const failure = failureFromProto(proto.cause, depth);
  if (failure.kind === 'cancelled') return failure;
  const kind = failure.kind === 'timeout' ? 'timeout' : 'step';
  return { ...failure, kind, activityType: failure.activityType ?? activityType };
}

function childFailure(proto: ProtoFailure, depth: number): Failure {
  const info = proto.childWorkflowExecutionFailureInfo;
  const workflowType = info?.workflowType?.name ?? '';
  const workflowId = info?.workflowExecution?.workflowId ?? '';
  const cause = causeOf(proto, depth);
  return {
    kind: 'child',
    type: 'ChildWorkflowError',
    message: `child workflow "${workflowType}" (${workflowId}) ${howItEnded(cause)}`,
    properties: { workflowType, workflowId },
    ...(cause && { cause }),
  };
}

function howItEnded(cause: Failure | undefined): string {
  if (!cause) return 'failed';
  const isItsOwn = cause.activityType === undefined;
  const how = isItsOwn ? HOW_ENDED[cause.kind] : undefined;
  return `${how ?? 'failed'}: ${cause.message}`;
}

const HOW_ENDED: Partial<Record<FailureKind, string>> = {
  cancelled: 'was cancelled',
  terminated: 'was terminated',
  timeout: 'timed out',
};

function causeOf({ cause }: ProtoFailure, depth: number): Failure | undefined {
  if (!cause || isOfHeldBack(cause) || depth + 1 >= MAX_CAUSE_DEPTH) return undefined;
  return failureFromProto(cause, depth + 1);
}

/** Of an attempt that its worker gave back unbegun, since the run is paused: nothing failed. An author's error may have that name. */
export const isOfHeldBack = ({ source, applicationFailureInfo }: ProtoFailure): boolean =>
  source !== SOURCE && applicationFailureInfo?.type === RUN_PAUSED;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
