/** Errors that escape workflow code, as failures that help their reader: with the place and the remedy, where we know them. */
import { type Failure, toFailure } from '../../core/failure.js';
import { remedyFor } from './refusals.js';

/** Reads the stack of an error that was thrown in the sandbox. */
export interface StackReader {
  innermost(stack: string): string | undefined;
}

/** Errors that say "not here": the place belongs into their message. */
const MISPLACED = new Set(['DeterminismError', 'UsageError']);

export function failureOf(error: unknown, stacks: StackReader): Failure {
  const failure = toFailure(error);
  let isMisplaced = MISPLACED.has(failure.type);
  if (failure.type === 'ReferenceError') {
    const name = /^(\w+) is not defined$/.exec(failure.message)?.[1];
    const remedy = name === undefined ? undefined : remedyFor(name);
    if (remedy !== undefined) {
      failure.message = remedy;
      isMisplaced = true;
    }
  }
  const { stackTrace } = failure;
  if (stackTrace !== undefined) {
    const place = isMisplaced ? stacks.innermost(stackTrace) : undefined;
    if (place !== undefined) failure.message += ` (${place})`;
  }
  return failure;
}
