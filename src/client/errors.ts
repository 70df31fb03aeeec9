/**
 * What can go wrong, as classes. `ApiError` and its subclasses are answers of the server, one class for each name of
 * the contract; `ConnectionError` and its like are about getting one; `WorkflowFailedError` and its like are about a
 * run that ended, but not with a result.
 */
import type { ErrorName, ValidationIssue } from '../core/errors.js';
import type { ClosedStatus, LegacyWorkflowResult, SerializedWorkflowError, WorkflowResult } from './wire.js';

export interface ErrorFacts {
  status?: number | ClosedStatus;
  workflowId?: string | null;
  runId?: string | null;
  issues?: ValidationIssue[];
  requestId?: string | null;
  retryAfterMs?: number;
  cause?: unknown;
}

/** Of everything that this client throws by itself. */
export class ClientError extends Error {
  /** The HTTP status of an answer; of a run's end, what became of the run. */
  readonly status: number | ClosedStatus | undefined;
  /** The run that it is about, where that is known. */
  readonly workflowId: string | undefined;
  readonly runId: string | undefined;
  /** What does not fit, of a `ValidationError`. */
  readonly issues: ValidationIssue[] | undefined;
  /** The `X-Request-ID` under which the server's log has the call. */
  readonly requestId: string | undefined;
  /** When the server wants to be asked again. */
  readonly retryAfterMs: number | undefined;

  constructor(name: string, message: string, facts: ErrorFacts = {}) {
    super(message, 'cause' in facts ? { cause: facts.cause } : undefined);
    // An own property rather than the class's name, which minifiers change.
    this.name = name;
    this.status = facts.status;
    this.workflowId = facts.workflowId ?? undefined;
    this.runId = facts.runId ?? undefined;
    this.issues = facts.issues;
    this.requestId = facts.requestId ?? undefined;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** No answer: the server cannot be reached, or the connection broke. `isUnsent` when no try of the call can have got there. */
export class ConnectionError extends ClientError {
  readonly isUnsent: boolean;
  constructor(message: string, isUnsent: boolean, cause: unknown) {
    super('ConnectionError', message, { cause });
    this.isUnsent = isUnsent;
  }
}

/** As it is for a call of which something may have reached the server before, whatever became of the last try. */
export function afterSending(error: unknown): unknown {
  if (!(error instanceof ConnectionError && error.isUnsent)) return error;
  return new ConnectionError(error.message, false, error.cause);
}

/** `timeoutMs` of the call has passed. What was started goes on. */
export class CallTimeoutError extends ClientError {
  constructor(timeoutMs: number, facts: ErrorFacts = {}) {
    super('CallTimeoutError', `No answer within ${timeoutMs} ms`, facts);
  }
}

/** Something answered that does not speak this API, such as a proxy or another program on that port. */
export class UnexpectedAnswerError extends ClientError {
  constructor(message: string, facts: ErrorFacts) {
    super('UnexpectedAnswerError', message, facts);
  }
}

/** An error that the server answered with. */
export class ApiError extends ClientError {
  declare readonly status: number;
}

export class ValidationError extends ApiError {}
export class InvalidJsonError extends ApiError {}
export class InvalidPageTokenError extends ApiError {}
export class InvalidLastEventIdError extends ApiError {}
export class UpdateRejectedError extends ApiError {}
export class UnauthorizedError extends ApiError {}
export class WorkflowNotFoundError extends ApiError {}
export class CatalogNotFoundError extends ApiError {}
export class HandlerNotFoundError extends ApiError {}
export class StepNotFoundError extends ApiError {}
export class TraceNotAvailableError extends ApiError {}
export class NotFoundError extends ApiError {}
export class MethodNotAllowedError extends ApiError {}
export class WorkflowExecutionTimedOutError extends ApiError {}
export class WorkflowAlreadyExistsError extends ApiError {}
export class WorkflowAlreadyClosedError extends ApiError {}
export class StepNotCompletedError extends ApiError {}
export class PayloadTooLargeError extends ApiError {}
export class UnsupportedMediaTypeError extends ApiError {}
export class IdempotencyConflictError extends ApiError {}
export class UpdateFailedError extends ApiError {}
export class QueryFailedError extends ApiError {}
export class UnsupportedWorkflowError extends ApiError {}
export class WorkflowNotCompletedError extends ApiError {}
export class TooManyRequestsError extends ApiError {}
export class DataCorruptionError extends ApiError {}
export class InternalError extends ApiError {}
export class NotSupportedByEngineError extends ApiError {}
export class EngineUnavailableError extends ApiError {}
export class CatalogNotAvailableError extends ApiError {}
export class StorageFullError extends ApiError {}

type ApiErrorClass = new (name: string, message: string, facts: ErrorFacts) => ApiError;

export const API_ERRORS: Record<ErrorName, ApiErrorClass> = {
  ValidationError,
  InvalidJsonError,
  InvalidPageTokenError,
  InvalidLastEventIdError,
  UpdateRejectedError,
  UnauthorizedError,
  WorkflowNotFoundError,
  CatalogNotFoundError,
  HandlerNotFoundError,
  StepNotFoundError,
  TraceNotAvailableError,
  NotFoundError,
  MethodNotAllowedError,
  WorkflowExecutionTimedOutError,
  WorkflowAlreadyExistsError,
  WorkflowAlreadyClosedError,
  StepNotCompletedError,
  PayloadTooLargeError,
  UnsupportedMediaTypeError,
  IdempotencyConflictError,
  UpdateFailedError,
  QueryFailedError,
  UnsupportedWorkflowError,
  WorkflowNotCompletedError,
  TooManyRequestsError,
  DataCorruptionError,
  InternalError,
  NotSupportedByEngineError,
  EngineUnavailableError,
  CatalogNotAvailableError,
  StorageFullError,
};

/** The error that an answer carries. A newer server may have names that this client does not know. */
export function apiError(body: ErrorBody, facts: ErrorFacts): ApiError {
  const { error: name, message, workflowId, runId, issues } = body;
  const known = Object.hasOwn(API_ERRORS, name) ? API_ERRORS[name as ErrorName] : ApiError;
  // "Invalid Payload" alone would send everybody to the issues.
  const [first] = issues ?? [];
  const told = first ? `${message}: ${first.path.join('.')} ${first.message}` : message;
  return new known(name, told, { ...facts, workflowId, runId, issues });
}

export interface ErrorBody {
  error: string;
  message: string;
  workflowId?: string | null;
  runId?: string;
  issues?: ValidationIssue[];
}

export function isErrorBody(body: unknown): body is ErrorBody {
  const { error, message, issues = [] } = (body ?? {}) as Partial<ErrorBody>;
  return (
    typeof error === 'string' &&
    typeof message === 'string' &&
    Array.isArray(issues) &&
    issues.every((issue) => Array.isArray(issue?.path))
  );
}

/** A run has ended, and not with a result. */
export class WorkflowOutcomeError extends ClientError {
  declare readonly status: ClosedStatus;
  declare readonly workflowId: string;
  /** The error of the run as the API gives it. `cause` is the same, as errors. */
  readonly error: SerializedWorkflowError | undefined;

  constructor(name: string, result: WorkflowResult | LegacyWorkflowResult) {
    const { workflowId, runId, status } = result;
    const error = errorOf(result);
    super(name, `${workflowId} ${OUTCOMES[status]}${error ? `: ${error.message}` : ''}`, {
      status,
      workflowId,
      runId,
      ...(error && { cause: revive(error) }),
    });
    this.error = error;
  }
}

const OUTCOMES: Record<ClosedStatus, string> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
  terminated: 'was terminated',
  timed_out: 'timed out',
  continued_as_new: 'was continued as new; a handle without the run leads to the end of the chain',
};

export class WorkflowFailedError extends WorkflowOutcomeError {}
export class WorkflowCancelledError extends WorkflowOutcomeError {}
export class WorkflowTerminatedError extends WorkflowOutcomeError {}
export class WorkflowTimedOutError extends WorkflowOutcomeError {}
/** Only of a handle that is bound to one run. */
export class WorkflowContinuedAsNewError extends WorkflowOutcomeError {}

export const isOutcome = ({ status }: { status: string }): boolean => Object.hasOwn(OUTCOMES, status);

/** What the run returned. @throws WorkflowFailedError and its like */
export function outputOf(result: WorkflowResult | LegacyWorkflowResult): unknown {
  switch (result.status) {
    case 'completed':
      return result.output;
    case 'cancelled':
      throw new WorkflowCancelledError('WorkflowCancelledError', result);
    case 'terminated':
      throw new WorkflowTerminatedError('WorkflowTerminatedError', result);
    case 'timed_out':
      throw new WorkflowTimedOutError('WorkflowTimedOutError', result);
    case 'continued_as_new':
      throw new WorkflowContinuedAsNewError('WorkflowContinuedAsNewError', result);
    default:
      throw new WorkflowFailedError('WorkflowFailedError', result);
  }
}

/** The error of either form of result, in the current one. */
function errorOf(result: WorkflowResult | LegacyWorkflowResult): SerializedWorkflowError | undefined {
  if ('v' in result) return result.error ?? undefined;
  if (result.error === null) return undefined;
  const { name, activityId, cause } = result.errorDetails ?? {};
  return {
    name: name ?? 'Error',
    message: result.error,
    ...(activityId && { activityType: activityId }),
    ...(cause && { cause: cause as SerializedWorkflowError }),
  };
}

/** As an error with its causes, so that logs and debuggers show the chain. The stack would be this file's. */
function revive(given: SerializedWorkflowError): Error {
  const { name, message, cause, ...properties } = given;
  const error = new Error(message, cause && { cause: revive(cause) });
  error.stack = `${name}: ${message}`;
  return Object.assign(error, properties, { name });
}
