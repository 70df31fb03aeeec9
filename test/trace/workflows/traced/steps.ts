import { step, stepContext } from 'perdure';

class Declined extends Error {
  override readonly name = 'Declined';
  readonly code = 51;
}

/** Fails at its first attempt. */
export const charge = step({
  name: 'charge',
  options: { retry: { initialInterval: '1ms', maximumAttempts: 3 } },
  fn: async (amount: number) => {
    if (stepContext().attempt === 1)
      throw new Declined('try again', { cause: new TypeError('socket closed') });
    return { charged: amount };
  },
});

export const refuse = step({
  name: 'refuse',
  options: { retry: { maximumAttempts: 1 } },
  fn: async () => {
    throw new Declined('no funds', { cause: new TypeError('socket closed') });
  },
});
