import { condition, defineSignal, setHandler, workflow } from 'perdure';
import type { Place } from '../../../workflows/shared/ledger.js';
import { newWay } from './steps.js';

const finish = defineSignal('finish');

/** The patch is gone. */
export const changing = workflow({
  name: 'changing',
  fn: async (input: Place) => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    const way = await newWay(input);
    await condition(() => done);
    return { version: 'fourth', way };
  },
});
