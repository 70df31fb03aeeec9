/** How Temporal's own code in the sandbox turns errors into failures, such as that of a turn that could not be run. */
import type { FailureConverter } from '@temporalio/common';
import { toFailure } from '../../core/history/failure.js';
import { errorOf } from '../../sdk/errors.js';
import { failureFromProto, failureToProto } from '../translate/failure.js';
import { restoreStacks } from './stacks.js';

export const failureConverter: FailureConverter = {
  errorToFailure(error) {
    const failure = toFailure(error);
    restoreStacks(failure);
    return failureToProto(failure);
  },
  // The type asks for one of Temporal's own errors; all that happens to it here is to be kept.
  failureToError: (failure) => errorOf(failureFromProto(failure)) as never,
};
