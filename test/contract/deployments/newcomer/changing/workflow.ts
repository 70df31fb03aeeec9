import { condition, defineSignal, patched, setHandler, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { newWay, oldWay, onceOnly } from './steps.js';

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
