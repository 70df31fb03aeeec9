/** Errors that escape workflow code, as failures; where plain JavaScript says too little, the remedy is added. */
import { type Failure, toFailure } from '../../core/failure.js';
import { remedyFor } from './refusals.js';

export function failureOf(error: unknown): Failure {
  const failure = toFailure(error);
  if (failure.type === 'ReferenceError') {
    const name = /^(\w+) is not defined$/.exec(failure.message)?.[1];
    const remedy = name === undefined ? undefined : remedyFor(name);
    if (remedy) failure.message = remedy;
  }
  return failure;
}
