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
    const { attempt, cost } = stepContext();
    cost({ amount: `0.${attempt}`, kind: 'bank', label: 'fee', usage: { calls: attempt } });
    if (attempt === 1) throw new Declined('try again', { cause: new TypeError('socket closed') });
    return { charged: amount };
  },
});

/** Spends, and does not end. */
export const spend = step({
  name: 'spend',
  fn: async () => {
    const { cost, signal } = stepContext();
    cost({ amount: '0.5', currency: 'EUR' });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
});

export const refuse = step({
  name: 'refuse',
  options: { retry: { maximumAttempts: 1 } },
  fn: async () => {
    throw new Declined('no funds', { cause: new TypeError('socket closed') });
  },
});
