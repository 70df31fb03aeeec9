import { appendFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import { step, stepContext } from 'perdure';

/** Takes its time, and leaves a mark when it is done. */
export const works = step({
  name: 'works',
  fn: async ({ ledger, ms }: { ledger: string; ms: number }) => {
    appendFileSync(ledger, 'began\n');
    await later(ms);
    appendFileSync(ledger, `${stepContext().runId}\n`);
    return 'worked';
  },
});

/** Ends only when it is told to. */
export const stuck = step({
  name: 'stuck',
  fn: async ({ ledger }: { ledger: string }) => {
    const { signal } = stepContext();
    appendFileSync(ledger, 'began\n');
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  },
});

export const repeats = step({ name: 'repeats', fn: async (value: unknown) => value });

export const breaks = step({
  name: 'breaks',
  options: { retry: { maximumAttempts: 2, initialInterval: '1ms' } },
  fn: async (value: unknown) => {
    // The message is the author's own, and is told in the log; what goes with it is not.
    throw Object.assign(new Error('broken by what it was given'), { value });
  },
});
