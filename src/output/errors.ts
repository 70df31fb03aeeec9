/** The errors that Output's authors throw and ask for, beside those that perdure has under the same name. */
import { FatalError } from '../sdk/index.js';

/**
 * Says that trying again is pointless, and nothing else: the error that it carries is what is recorded, logged and told
 * to callers.
 */
export class TransparentFatalError extends FatalError {
  declare readonly cause: Error;

  constructor(cause: Error) {
    if (!(cause instanceof Error))
      throw new FatalError('TransparentFatalError needs the error that it stands for');
    super(cause.message, { cause });
    this.name = 'TransparentFatalError';
  }
}

/** Calls the author's function, and lets out what a `TransparentFatalError` stands for in its place. */
export async function throughTransparent<T>(fn: () => T | Promise<T>): Promise<T> {
  try {
    return await fn();
  } catch (error) {
    throw error instanceof TransparentFatalError ? neverRetried(error.cause) : error;
  }
}

function neverRetried(error: Error): Error {
  const mark = { value: true, configurable: true, enumerable: false };
  if (Reflect.defineProperty(error, 'nonRetryable', mark)) return error;
  // It cannot be added to, so another one stands for it.
  return Object.create(error, { nonRetryable: mark }) as Error;
}

/** Deeper causes are not kept anyway, and a loop of them must end. */
const MAX_CAUSES = 20;

/**
 * Whether the error, or one that caused it, is of that class. What a step threw comes back to the workflow by the name of
 * its class, so that is asked for as well; a class that derives from it has another.
 */
export function hasErrorType<T extends Error>(
  error: unknown,
  ErrorType: abstract new (...args: never[]) => T,
): boolean {
  let link: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof link === 'object' && link !== null; depth++) {
    if (link instanceof ErrorType) return true;
    const { name, type, cause } = link as { name?: unknown; type?: unknown; cause?: unknown };
    if (name === ErrorType.name || type === ErrorType.name) return true;
    link = cause;
  }
  return false;
}
