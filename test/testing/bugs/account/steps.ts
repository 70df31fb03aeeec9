import { step, stepContext } from 'perdure';

/** Stands for a bank outside. */
export const bank = { balance: 0, seen: new Set<string>() };

/** The bug: an attempt that is repeated pays once more. */
export const pay = step({
  name: 'pay',
  fn: async (amount: number) => {
    bank.balance += amount;
  },
});

export const payOnce = step({
  name: 'payOnce',
  fn: async (amount: number) => {
    const { idempotencyKey } = stepContext();
    if (!bank.seen.has(idempotencyKey)) bank.balance += amount;
    bank.seen.add(idempotencyKey);
  },
});
