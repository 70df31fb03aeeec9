import { condition, defineQuery, defineSignal, setHandler, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { oldWay, repaired, weigh } from './steps.js';

const finish = defineSignal('finish');

export const changing = workflow({
  name: 'changing',
  signals: { finish: {}, hurry: {} },
  fn: async (input: Place) => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    const way = await oldWay(input);
    await condition(() => done);
    return { version: 'first', way };
  },
});

/** The next version does something else here without saying so. */
export const careless = workflow({
  name: 'careless',
  fn: async (input: Place) => {
    let signals = 0;
    setHandler(finish, () => {
      signals++;
    });
    setHandler(defineQuery<number>('signals'), () => signals);
    const way = await oldWay(input);
    await condition(() => signals > 0);
    return { version: 'first', way };
  },
});

export const withdrawn = workflow({
  name: 'withdrawn',
  fn: async () => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    await condition(() => done);
    return 'back again';
  },
});

export const repairs = workflow({ name: 'repairs', fn: async (input: Place) => repaired(input) });

export const weighing = workflow({
  name: 'weighing',
  fn: async (input: Place) => {
    const by = await Promise.all(Array.from({ length: 5 }, () => weigh({ ...input, grams: 500 })));
    return { version: 'first', by };
  },
});
