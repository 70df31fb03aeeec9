import { CancellationScope, condition, defineSignal, patched, setHandler, sleep, workflow } from 'perdure';
import { settled } from '../shared/described.js';

/** Sleeps as told, one after the other; says how long each took by the workflow's own clock. */
export const sleeps = workflow({
  name: 'sleeps',
  fn: async (input) => {
    const took: number[] = [];
    for (const duration of input as (number | string)[]) {
      const before = Date.now();
      await sleep(duration);
      took.push(Date.now() - before);
    }
    return took;
  },
});

export const badSleeps = workflow({
  name: 'badSleeps',
  fn: async () => {
    const bad = [-1, Number.NaN, Number.POSITIVE_INFINITY, 'soon', '', '-5s', null as unknown as number];
    return Promise.all(bad.map((duration) => settled(Promise.resolve().then(() => sleep(duration)))));
  },
});

const stop = defineSignal('stop');

/** Sleeps for ages, until told to stop; then its timer is cancelled. */
export const farSleep = workflow({
  name: 'farSleep',
  fn: async (duration) => {
    const scope = new CancellationScope();
    setHandler(stop, () => scope.cancel());
    return scope.run(() => settled(sleep(duration as string)));
  },
});

export const hostTimers = workflow({
  name: 'hostTimers',
  fn: async () => {
    const seen: string[] = [];
    const cleared = setTimeout(() => seen.push('cleared'), 1);
    setTimeout((text: string) => seen.push(text), 30, 'later');
    setTimeout(() => seen.push('sooner'), 1);
    clearTimeout(cleared);
    await condition(() => seen.length === 2);
    return seen;
  },
});

/** Several timers at once; the answer is the order in which they fired. */
export const timerOrder = workflow({
  name: 'timerOrder',
  fn: async () => {
    const fired: number[] = [];
    await Promise.all([120, 10, 60].map((ms) => sleep(ms).then(() => fired.push(ms))));
    return fired;
  },
});

export const sleepRace = workflow({
  name: 'sleepRace',
  fn: async () => Promise.race([sleep('1 hour').then(() => 'long'), sleep(5).then(() => 'short')]),
});

const open = defineSignal('open');

/** Waits for a signal, with or without an end to it. */
export const waitsFor = workflow({
  name: 'waitsFor',
  fn: async (timeout) => {
    let isOpen = false;
    setHandler(open, () => {
      isOpen = true;
    });
    if (timeout === null) {
      await condition(() => isOpen);
      return 'opened';
    }
    return (await condition(() => isOpen, timeout as string)) ? 'opened' : 'timed out';
  },
});

export const alreadyTrue = workflow({
  name: 'alreadyTrue',
  fn: async () => {
    await condition(() => true);
    return [await condition(() => true, '1 hour'), await condition(() => false, 0)];
  },
});

export const scopedTimeout = workflow({
  name: 'scopedTimeout',
  fn: async () => settled(CancellationScope.withTimeout('20ms', () => sleep('1 hour'))),
});

/** A promise that the timer's own turn settles must be seen in that turn. */
export const conditionChain = workflow({
  name: 'conditionChain',
  fn: async () => {
    let stage = 0;
    const second = condition(() => stage === 1).then(() => {
      stage = 2;
    });
    const third = condition(() => stage === 2).then(() => {
      stage = 3;
    });
    await sleep(5);
    stage = 1;
    await Promise.all([second, third]);
    return stage;
  },
});

/** Its predicate asks for something, which is refused, and the time that it had passes. */
export const conditionRefused = workflow({
  name: 'conditionRefused',
  fn: async () => {
    const refused = await settled(condition(() => patched('asked in a predicate') && false, 1));
    await sleep(20);
    return refused;
  },
});
