/**
 * Every answer that is not a success, by the one table in core/errors.ts.
 *
 * What the caller can act on is a `PerdureError` and is told in full. Anything else is our bug: it goes to the log
 * with the request id, and the caller gets `InternalError` without a word of it.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorName, PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import { withoutToken } from '../door/callbacks.js';

/** When to come back, where the error itself does not say. */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorName, number>> = {
  CatalogNotAvailableError: 3,
  EngineUnavailableError: 5,
  TooManyRequestsError: 1,
  // Space comes back when somebody makes some, or when retention removes runs; neither is a matter of seconds.
  StorageFullError: 30,
};

export function errorBody(error: PerdureError): string {
  const { name, message, details } = error;
  if (name === 'ValidationError') {
    const issues = details.issues ?? [{ path: [], message, code: 'invalid' }];
    return JSON.stringify({ error: name, message: 'Invalid Payload', issues });
  }
  return JSON.stringify({ error: name, message, workflowId: details.workflowId, runId: details.runId });
}

/** What the caller is told of what was thrown. The rest of it goes to the log. */
export function tellable(thrown: unknown, request: FastifyRequest, log: Log): PerdureError {
  const error = toPerdureError(thrown);
  if (error.name === 'InternalError') {
    log.error(
      { err: thrown, requestId: request.id, method: request.method, url: pathOf(request) },
      'a call failed',
    );
  }
  return error;
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const error = tellable(thrown, request, log);
  const retryAfter = error.details.retryAfterSeconds ?? RETRY_AFTER_SECONDS[error.name];
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  if (error.name === 'UnauthorizedError') reply.header('www-authenticate', 'Basic realm="perdure"');
  reply
    .code(error.status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    .send(errorBody(error));
}

/** For logs: the query is left out, and so is the token of a callback. */
export function pathOf(request: FastifyRequest): string {
  return withoutToken(request.url.split('?', 1)[0]!);
}

export function toPerdureError(thrown: unknown): PerdureError {
  if (thrown instanceof PerdureError) return thrown;
  const code = (thrown as Partial<FastifyError> | null)?.code;
  const known = typeof code === 'string' ? FRAMEWORK_ERRORS[code] : undefined;
  return known ? new PerdureError(...known) : new PerdureError('InternalError', INTERNAL);
}

const INTERNAL = 'Something went wrong in the server; its log has the detail under the request id';

/** What Fastify itself refuses, in the words of the contract. */
const FRAMEWORK_ERRORS: Record<string, [ErrorName, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['PayloadTooLargeError', 'The body is larger than this server takes'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UnsupportedMediaTypeError',
    'Send JSON with Content-Type: application/json',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['InvalidJsonError', 'The body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['ValidationError', 'The path is not a valid URL path'],
  FST_ERR_MAX_PARAM_LENGTH: ['ValidationError', 'A part of the path is too long'],
  // The body broke off: nobody is left to read the answer, and it is no bug of ours.
  ECONNRESET: ['InvalidJsonError', 'The request broke off'],
};
