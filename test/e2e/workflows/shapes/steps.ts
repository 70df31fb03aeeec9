import { step } from 'perdure';

export class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
  readonly code = 51;
}

export const decline = step({
  name: 'decline',
  options: { retry: { maximumAttempts: 1 } },
  fn: async () => {
    throw new CardDeclined('no funds', { cause: new TypeError('socket closed') });
  },
});
