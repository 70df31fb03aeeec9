import { condition, defineSignal, patched, setHandler, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { newWay, oldWay, onceOnly, weigh } from './steps.js';

const finish = defineSignal('finish');

export const changing = workflow({
  name: 'changing',
  signals: { finish: {}, dawdle: {} },
  fn: async (input: Place) => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    const way = patched('new-way') ? await newWay(input) : await oldWay(input);
    await condition(() => done);
    return { version: 'newcomer', way };
  },
});

/** No other deployment has it, nor its step. */
export const unheardOf = workflow({ name: 'unheardOf', fn: async (input: Place) => onceOnly(input) });

export const weighing = workflow({
  name: 'weighing',
  fn: async (input: Place) => {
    const by = await Promise.all(Array.from({ length: 5 }, () => weigh({ ...input, weight: '500 g' })));
    return { version: 'newcomer', by };
  },
});
