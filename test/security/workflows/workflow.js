import { condition, defineQuery, defineSignal, setHandler, workflow } from 'perdure';
import { fails, looks } from './steps.js';

const more = defineSignal('more');
const finish = defineSignal('finish');
const seen = defineQuery('seen');

/** What a value does to the objects of a workflow and of a step, in a turn and in its replay. */
export const polluted = workflow({
  name: 'polluted',
  fn: async (input) => {
    const got = [];
    let isOver = false;
    setHandler(more, (payload) => {
      got.push({ own: Object.keys(payload ?? {}), polluted: {}.polluted ?? null });
    });
    setHandler(seen, () => got);
    setHandler(finish, () => {
      isOver = true;
    });
    const step = await looks(input);
    await condition(() => isOver);
    return { own: Object.keys(input), polluted: {}.polluted ?? null, step, got };
  },
});

/** Fails with whatever the environment of its step has. */
export const leaks = workflow({ name: 'leaks', fn: async () => fails() });
