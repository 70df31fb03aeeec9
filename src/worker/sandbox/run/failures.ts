/** Errors that escape workflow code, as failures that help their reader: with the place and the remedy, where we know them. */
import { type Failure, toFailure } from '../../../core/history/failure.js';
import { remedyFor } from '../realm/refusals.js';

/** Reads the stack of an error that was thrown in the sandbox. */
export interface StackReader {
  innermost(stack: string): string | undefined;
}

/** Errors that say "not here": the place belongs into their message. */
const MISPLACED = new Set(['DeterminismError', 'UsageError']);

/** With the place in its message, for whoever reads it in a result. */
export function failureOf(error: unknown, stacks: StackReader): Failure {
  const failure = remediedFailure(error);
  const { stackTrace } = failure;
  const place =
    stackTrace !== undefined && MISPLACED.has(failure.type) ? stacks.innermost(stackTrace) : undefined;
  if (place !== undefined) failure.message += ` (${place})`;
  return failure;
}

/** A name that does not exist in here is told like a function that is there and refuses to be used. */
export function remediedFailure(error: unknown): Failure {
  const failure = toFailure(error);
  if (failure.type !== 'ReferenceError') return failure;
  const name = /^(\w+) is not defined$/.exec(failure.message)?.[1];
  const remedy = name === undefined ? undefined : remedyFor(name);
  if (remedy === undefined) return failure;
  return { ...failure, type: 'DeterminismError', nonRetryable: true, message: remedy };
}
