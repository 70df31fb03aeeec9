import { condition, defineQuery, defineSignal, defineUpdate, setHandler, sleep, workflow } from 'perdure';
import { brief, spend } from './steps.js';

/** What callers wait for: a step and a timer. */
export const works = workflow({
  name: 'works',
  fn: async ({ ms = 0 }) => {
    const answer = await brief(1);
    if (ms > 0) await sleep(ms);
    return answer;
  },
});

/** The smallest. */
export const says = workflow({ name: 'says', fn: async () => 'yes' });

/** Many costs, as a run of many calls to a model has. */
export const spends = workflow({
  name: 'spends',
  fn: async ({ steps, costs }) => {
    for (let i = 0; i < steps; i++) await spend({ costs });
  },
});

const add = defineSignal('add');
const put = defineUpdate('put');
const finish = defineSignal('finish');
const count = defineQuery('count');

/** Open until it is told to finish; counts what it gets. */
export const collects = workflow({
  name: 'collects',
  fn: async () => {
    const got = { signals: 0, updates: 0 };
    let isOver = false;
    setHandler(add, () => {
      got.signals++;
    });
    setHandler(put, async () => {
      got.updates++;
      await sleep(50);
      return got.updates;
    });
    setHandler(count, () => got.signals);
    setHandler(finish, () => {
      isOver = true;
    });
    await condition(() => isOver);
    return got;
  },
});
