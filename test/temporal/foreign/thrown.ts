/** What an interceptor of another maker makes of an error: it is in the details, and once more the cause. */
import { ApplicationFailure } from '@temporalio/common';

export class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
  readonly code = 51;
}

export function asOthersThrow(error: CardDeclined): ApplicationFailure {
  const { name, message, code } = error;
  const { name: type, message: reason } = error.cause as Error;
  return ApplicationFailure.fromError(error, {
    nonRetryable: true,
    details: [{ error: { name, message, code, cause: { name: type, message: reason } } }],
  });
}

export const declined = (): ApplicationFailure =>
  asOthersThrow(new CardDeclined('no funds', { cause: new TypeError('socket closed') }));
