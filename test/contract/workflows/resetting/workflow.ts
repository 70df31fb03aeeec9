import { condition, defineQuery, defineSignal, setHandler, sleep, uuid4, workflow } from 'perdure';
import type { Place } from '../shared/ledger.js';
import { flakyOnce } from '../shared/steps/failing.js';
import { gated, note, noteAfter, noteBefore } from '../shared/steps/recording.js';

interface ResetInput extends Place {
  /** How it ends after its steps: by returning, failing, or waiting for `finish`. */
  ending: 'return' | 'fail' | 'wait';
}

const finish = defineSignal('finish');
const add = defineSignal<[unknown]>('add');

/** before, note, after: a reset after `note` runs `after` again and nothing else. */
export const threeSteps = workflow({
  name: 'threeSteps',
  fn: async (input) => {
    const { ending, ...place } = input as ResetInput;
    const signals: unknown[] = [];
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    setHandler(add, (value) => {
      signals.push(value);
    });
    setHandler(defineQuery<unknown[]>('signals'), () => signals);
    const before = await noteBefore({ ...place, value: 'before' });
    const random = { before: Math.random(), id: uuid4() };
    const middle = await note({ ...place, value: 'middle' });
    const after = await noteAfter({ ...place, value: 'after' });
    const late = { random: Math.random(), id: uuid4() };
    if (ending === 'wait') await condition(() => done);
    if (ending === 'fail') await flakyOnce({ ...place, failures: 1 });
    return { before, middle, after, random, late, signals };
  },
});

/** One step several times over. */
export const repeats = workflow({
  name: 'repeats',
  fn: async (input) => {
    const { times, ...place } = input as Place & { times: number };
    const values: unknown[] = [];
    for (let value = 1; value <= times; value++) {
      values.push(await note({ ...place, value }));
      if (value === 2) await noteAfter({ ...place, value: 'between' });
    }
    return values;
  },
});

/** Timers and steps are pending beside the one that a reset goes back to. */
export const pendingBeside = workflow({
  name: 'pendingBeside',
  fn: async (input) => {
    const place = input as Place;
    const held = gated({ ...place, gate: place.key });
    const slept = sleep(20).then(() => 'slept');
    const value = await note({ ...place, value: 'noted' });
    return { value, held: await held, slept: await slept };
  },
});

export const patientChild = workflow({
  name: 'patientChild',
  fn: async () => {
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    await condition(() => done);
    return 'back again';
  },
});

/** One child before the step, one after it. */
export const familyReset = workflow({
  name: 'familyReset',
  fn: async (input) => {
    const first = patientChild();
    await sleep(1);
    await note({ ...(input as Place), value: 'between' });
    return Promise.all([first, patientChild()]);
  },
});

/** The same with ids that the caller gives, which the run needs again after a reset. */
export const namedFamilyReset = workflow({
  name: 'namedFamilyReset',
  fn: async (input) => {
    const { before, after, ...place } = input as Place & { before: string; after: string };
    const first = patientChild(undefined, { workflowId: before });
    await sleep(1);
    await note({ ...place, value: 'between' });
    const ends = await Promise.allSettled([first, patientChild(undefined, { workflowId: after })]);
    return ends.map((end) => (end.status === 'fulfilled' ? end.value : 'failed'));
  },
});

export const neverCompletes = workflow({
  name: 'neverCompletes',
  fn: async (input) => {
    const place = input as Place;
    await note({ ...place, value: 1 });
    return gated({ ...place, gate: place.key });
  },
});
