/**
 * What a cluster refuses, and what the caller is told of it.
 *
 * A call ends in a `PerdureError` or in a `RefusedCall`, which the part that made the call turns into the error of the
 * contract, since only that part knows what was asked for. The cluster's own words are for the log.
 */
import type { google } from '@temporalio/proto';
import { PerdureError } from '../../core/errors.js';
import type { RunSelector } from '../../engine.js';

/** The codes of gRPC that mean something here. */
export const CODE = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export interface GrpcError extends Error {
  code: number;
  details: string;
  metadata?: { get(key: string): (string | Buffer)[] };
}

export function isGrpcError(error: unknown): error is GrpcError {
  return (
    error instanceof Error && typeof (error as { code?: unknown }).code === 'number' && 'details' in error
  );
}

/** The cluster answered, and the answer is no. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly code: number;
  /** In the cluster's words. */
  readonly reason: string;

  constructor(
    error: GrpcError,
    /** What the cluster says beside the code, by the names of its messages. */
    readonly details: ReadonlyMap<string, Uint8Array>,
  ) {
    super(`the Temporal cluster refused the call (code ${error.code}): ${error.details}`, { cause: error });
    this.code = error.code;
    this.reason = error.details;
  }

  /** `name` is that of a message in temporal.api.errordetails.v1. */
  has(name: string): boolean {
    return this.details.has(`temporal.api.errordetails.v1.${name}`);
  }

  detail(name: string): Uint8Array | undefined {
    return this.details.get(`temporal.api.errordetails.v1.${name}`);
  }
}

export function detailsOf(error: GrpcError, status: typeof google.rpc.Status): Map<string, Uint8Array> {
  const details = new Map<string, Uint8Array>();
  const packed = error.metadata?.get('grpc-status-details-bin')[0];
  if (packed === undefined || typeof packed === 'string') return details;
  for (const { type_url, value } of status.decode(packed).details ?? []) {
    if (type_url && value) details.set(type_url.slice(type_url.lastIndexOf('/') + 1), value);
  }
  return details;
}

export const isRefused = (error: unknown, code: number): error is RefusedCall =>
  error instanceof RefusedCall && error.code === code;

/** The run is about to close, and takes nothing more: whoever comes next is told that it has closed. */
export const isClosing = (error: unknown): boolean =>
  isRefused(error, CODE.RESOURCE_EXHAUSTED) && /workflow is closing/i.test(error.reason);

export function notFound({ workflowId, runId }: RunSelector): PerdureError {
  const message =
    runId === undefined
      ? `there is no workflow with id "${workflowId}"`
      : `workflow "${workflowId}" has no run ${runId}`;
  return new PerdureError('WorkflowNotFoundError', message, {
    workflowId,
    ...(runId !== undefined && { runId }),
  });
}

/** `cause` is for those who look after the server: callers do not get it. */
export function unavailable(message: string, retryAfterSeconds?: number, cause?: GrpcError): PerdureError {
  return new PerdureError(
    'EngineUnavailableError',
    message,
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
    cause && { cause },
  );
}

/** What a call that asked for a run comes to, where the part that made it has nothing better to say. */
export function errorOfRun(error: unknown, selector: RunSelector): unknown {
  if (!(error instanceof RefusedCall)) return error;
  if (error.code === CODE.NOT_FOUND) return notFound(selector);
  const { workflowId, runId } = selector;
  if (isTooLarge(error)) {
    const message = 'The payload is larger than the Temporal cluster takes';
    return new PerdureError('PayloadTooLargeError', message, { workflowId, runId });
  }
  return error;
}

/** By a bound on values, or by the one on whole messages. */
const isTooLarge = ({ code, reason }: RefusedCall): boolean =>
  (code === CODE.INVALID_ARGUMENT && /size exceeds|too large/i.test(reason)) ||
  (code === CODE.RESOURCE_EXHAUSTED && /message larger than max/i.test(reason));
