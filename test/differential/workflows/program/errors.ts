/** Errors that a program throws, and errors that it caught as data. For steps and workflows alike. */
import {
  CancelledError,
  FatalError,
  isCancellation,
  RetryAfterError,
  TimeoutError,
  ValidationError,
} from 'perdure';
import type { ErrorSpec } from '../../program.js';

class ListedError extends Error {
  override readonly name = 'ListedError';
}

/** Without a `name` of its own, as most people write it. */
class QuietError extends Error {}

export function errorOf(spec: ErrorSpec): unknown {
  const { as, message, properties } = spec;
  if (as === 'string') return message;
  if (as === 'object') return { ...properties, message };
  const options = spec.cause ? { cause: errorOf(spec.cause) } : undefined;
  const error = create(as, message, options);
  return Object.assign(error, properties);
}

function create(as: ErrorSpec['as'], message: string, options: ErrorOptions | undefined): Error {
  switch (as) {
    case 'TypeError':
      return new TypeError(message, options);
    case 'ListedError':
      return new ListedError(message, options);
    case 'QuietError':
      return new QuietError(message, options);
    case 'FatalError':
      return new FatalError(message, options);
    case 'RetryAfterError':
      return new RetryAfterError(message, message.length % 2 === 0 ? new Date(0) : 20, options);
    case 'ValidationError':
      return new ValidationError(message, [{ path: ['a', 0], message: 'too small', code: 'too_small' }]);
    case 'CancelledError':
      return new CancelledError(message);
    default:
      return new Error(message, options);
  }
}

/** Everything that code can see of an error, except its stack. */
export function described(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { thrown: error ?? String(error) };
  return {
    name: error.name,
    message: error.message,
    ...(JSON.parse(JSON.stringify(error)) as object),
    cancellation: isCancellation(error),
    timeout: error instanceof TimeoutError,
    ...(error.cause !== undefined && depth < 10 && { cause: described(error.cause, depth + 1) }),
  };
}
