import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  sleep,
  workflow,
} from 'perdure';
import type { Place } from '../shared/ledger.js';
import { failsForLong, gatedThenFails } from '../shared/steps/failing.js';
import { gated, note, noteAfter, noteBefore } from '../shared/steps/recording.js';

interface PausableInput extends Place {
  gate: string;
}

const add = defineSignal<[unknown]>('add');
const finish = defineSignal('finish');

/** A step that a test holds, then another one; meanwhile it takes messages. Says in which order it saw what. */
export const pausable = workflow({
  name: 'pausable',
  fn: async (input) => {
    const place = input as PausableInput;
    const seen: unknown[] = [];
    setHandler(add, (value) => void seen.push(value));
    setHandler(defineUpdate<number, [unknown]>('push'), (value) => seen.push(value));
    setHandler(defineQuery<unknown[]>('seen'), () => seen);
    seen.push(await gated(place));
    seen.push(await note({ ...place, value: 'afterwards' }));
    return seen;
  },
});

/** A step that fails once its gate is open, and is tried again at once. */
export const pausedRetry = workflow({
  name: 'pausedRetry',
  fn: async (input) => gatedThenFails(input as PausableInput),
});

/** A step that fails, with much time before its next attempt. */
export const triesLater = workflow({
  name: 'triesLater',
  fn: async (input) => failsForLong(input as Place),
});

/** Nothing but a timer. */
export const sleepsLong = workflow({ name: 'sleepsLong', fn: async () => sleep('1 hour') });

/** Waits for a message, for an hour at most. */
export const approvedInTime = workflow({
  name: 'approvedInTime',
  fn: async () => {
    let approved = false;
    setHandler(defineSignal('approve'), () => {
      approved = true;
    });
    setHandler(defineUpdate<string, [string]>('rename'), (name) => name);
    return condition(() => approved, '1 hour');
  },
});

/** A timer, and then a step. */
export const pausedTimer = workflow({
  name: 'pausedTimer',
  fn: async (input) => {
    await sleep(300);
    return note({ ...(input as Place), value: 'woken' });
  },
});

/** Waits for a message, and cleans up when it is stopped. */
export const pausedCleanup = workflow({
  name: 'pausedCleanup',
  fn: async (input) => {
    const place = input as Place;
    let done = false;
    setHandler(finish, () => {
      done = true;
    });
    try {
      await noteBefore({ ...place, value: 'begun' });
      await condition(() => done);
      return await noteAfter({ ...place, value: 'finished' });
    } catch (error) {
      await CancellationScope.nonCancellable(() => note({ ...place, value: 'cleaned up' }));
      throw error;
    }
  },
});
