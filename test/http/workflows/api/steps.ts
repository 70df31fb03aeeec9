import { randomUUID } from 'node:crypto';
import { step, stepContext } from 'perdure';

/** Another value at every execution, so that a test sees whether a step ran again. */
const unique = (name: string) => step({ name, fn: async () => randomUUID() });

export const first = unique('first');
export const second = unique('second');
export const third = unique('third');

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

export const spend = step({
  name: 'spend',
  fn: async (amount: string) => {
    stepContext().cost({ amount, kind: 'llm', usage: { calls: 1 } });
  },
});

/** Ends only when it is told to. */
export const stuck = step({
  name: 'stuck',
  fn: async () => {
    const { signal } = stepContext();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  },
});
