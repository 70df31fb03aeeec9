/**
 * The one table of errors that are the caller's problem: name to HTTP status. Routes, the OpenAPI document and
 * clients read it from here.
 */
export const ERROR_STATUS = {
  ValidationError: 400,
  InvalidJsonError: 400,
  InvalidPageTokenError: 400,
  InvalidLastEventIdError: 400,
  UpdateRejectedError: 400,
  UnauthorizedError: 401,
  WorkflowNotFoundError: 404,
  CatalogNotFoundError: 404,
  HandlerNotFoundError: 404,
  StepNotFoundError: 404,
  TraceNotAvailableError: 404,
  NotFoundError: 404,
  MethodNotAllowedError: 405,
  WorkflowExecutionTimedOutError: 408,
  WorkflowAlreadyExistsError: 409,
  WorkflowAlreadyClosedError: 409,
  StepNotCompletedError: 409,
  PayloadTooLargeError: 413,
  UnsupportedMediaTypeError: 415,
  IdempotencyConflictError: 422,
  UpdateFailedError: 422,
  QueryFailedError: 422,
  UnsupportedWorkflowError: 424,
  WorkflowNotCompletedError: 424,
  TooManyRequestsError: 429,
  DataCorruptionError: 500,
  InternalError: 500,
  NotSupportedByEngineError: 501,
  EngineUnavailableError: 503,
  CatalogNotAvailableError: 503,
  StorageFullError: 507,
} as const;

export type ErrorName = keyof typeof ERROR_STATUS;

export interface ValidationIssue {
  path: (string | number)[];
  message: string;
  code: string;
}

export interface ErrorDetails {
  workflowId?: string | null;
  runId?: string;
  issues?: ValidationIssue[];
  retryAfterSeconds?: number;
}

/** The caller's problem. Anything else that is thrown is our bug. */
export class PerdureError extends Error {
  override readonly name: ErrorName;
  constructor(
    name: ErrorName,
    message: string,
    readonly details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = name;
  }
  get status(): number {
    return ERROR_STATUS[this.name];
  }
}
