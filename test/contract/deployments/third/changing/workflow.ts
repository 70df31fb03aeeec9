import { condition, defineSignal, deprecatePatch, setHandler, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { newWay } from './steps.js';

const finish = defineSignal('finish');

/** No run of the old way is left; the patch is on its way out. */
export const changing = workflow({
  name: 'changing',
  fn: async (input: Place) => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    deprecatePatch('new-way');
    const way = await newWay(input);
    await condition(() => done);
    return { version: 'third', way };
  },
});
