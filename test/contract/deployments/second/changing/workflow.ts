import { condition, defineSignal, patched, setHandler, sleep, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { newWay, oldWay, repaired } from './steps.js';

const finish = defineSignal('finish');

/** Both ways, told apart by a patch; asked twice, recorded once. */
export const changing = workflow({
  name: 'changing',
  fn: async (input: Place) => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    const way = patched('new-way') ? await newWay(input) : await oldWay(input);
    await condition(() => done);
    return { version: 'second', way, stillPatched: patched('new-way') };
  },
});

export const careless = workflow({
  name: 'careless',
  fn: async (input: Place) => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    await sleep(1);
    const way = await newWay(input);
    await condition(() => done);
    return { version: 'second', way };
  },
});

export const repairs = workflow({ name: 'repairs', fn: async (input: Place) => repaired(input) });
