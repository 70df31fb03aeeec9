import {
  CancellationScope,
  condition,
  defineSignal,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  sleep,
  workflow,
} from 'perdure';
import { described, settled } from '../shared/described.js';
import type { Place } from '../shared/ledger.js';
import { gatedTryCancel, gatedWaitCancelled, note } from '../shared/steps/recording.js';

/** Cleans up by a step and a timer when it is cancelled. */
export const cleansUp = workflow({
  name: 'cleansUp',
  fn: async (input) => {
    const place = input as Place;
    try {
      await sleep('1 hour');
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(async () => {
        await note({ ...place, value: 'refund' });
        await sleep(5);
        await note({ ...place, value: 'notify' });
      });
      throw error;
    }
  },
});

/** Hears the cancellation and ends in its own way. */
export const answersCancel = workflow({
  name: 'answersCancel',
  fn: async (how) => {
    try {
      await condition(() => false);
    } catch (error) {
      if (how === 'complete') return 'wound up';
      if (how === 'fail') throw new Error('cannot stop now', { cause: error });
      throw error;
    }
  },
});

/** Two things are under way and only one of them is awaited when both are cancelled. */
export const awaitsOneOfTwo = workflow({
  name: 'awaitsOneOfTwo',
  fn: async () => {
    const first = sleep('1 hour');
    const second = sleep('2 hours');
    await first;
    await second;
  },
});

const goOn = defineSignal('goOn');

/** Swallows the cancellation: stopping is a request, not a kill. */
export const swallowsCancel = workflow({
  name: 'swallowsCancel',
  fn: async () => {
    let told = false;
    setHandler(goOn, () => {
      told = true;
    });
    await CancellationScope.nonCancellable(() => condition(() => told));
    const first = await settled(sleep(1));
    return { first };
  },
});

export const cancelledAtStep = workflow({
  name: 'cancelledAtStep',
  fn: async (input) => {
    const { step, ...place } = input as Place & { step: 'wait' | 'try' };
    const call = step === 'wait' ? gatedWaitCancelled : gatedTryCancel;
    return call({ ...place, gate: place.key });
  },
});

export const scopeTree = workflow({
  name: 'scopeTree',
  fn: async () => {
    const seen: string[] = [];
    const tell = (name: string) => (error: unknown) => {
      seen.push(`${name} ${isCancellation(error) ? 'cancelled' : described(error).message}`);
    };
    const outer = new CancellationScope();
    const inner = new CancellationScope();
    const whole = outer.run(async () => {
      const children = [
        inner.run(() => sleep('1 hour')).catch(tell('inner')),
        CancellationScope.cancellable(() => sleep('1 hour')).catch(tell('sibling')),
        CancellationScope.nonCancellable(() => sleep(10).then(() => seen.push('shielded slept'))),
      ];
      await Promise.all(children);
    });
    inner.cancel();
    await Promise.resolve();
    await sleep(1);
    const afterInner = [...seen];
    outer.cancel();
    await whole;
    return { afterInner, seen, requested: [inner.consideredCancelled, outer.consideredCancelled] };
  },
});

/** Waits for another run while its own scope can be cancelled, and can stop or signal the other. */
export const cancelsOther = workflow({
  name: 'cancelsOther',
  fn: async (workflowId) => settled(getExternalWorkflowHandle(workflowId as string).cancel()),
});

export const messagesItself = workflow({
  name: 'messagesItself',
  fn: async (act, { info }) => {
    const handle = getExternalWorkflowHandle(info.workflowId);
    return settled(act === 'signal' ? handle.signal(goOn) : handle.cancel());
  },
});

export const signalsOther = workflow({
  name: 'signalsOther',
  fn: async (input) => {
    const { workflowId, name, values } = input as { workflowId: string; name: string; values: unknown[] };
    const handle = getExternalWorkflowHandle(workflowId);
    const outcomes = [];
    for (const value of values) outcomes.push(await settled(handle.signal(name, value)));
    return outcomes;
  },
});

/** Waits for what it has begun in a scope whose function has ended, and cleans up when that is cancelled. */
export const leavesScope = workflow({
  name: 'leavesScope',
  fn: async (input) => {
    let left: Promise<void> | undefined;
    await CancellationScope.cancellable(async () => {
      left = sleep('1 day');
    });
    try {
      await left;
    } catch (error) {
      await CancellationScope.nonCancellable(() => note({ ...(input as Place), value: 'cleanup' }));
      throw error;
    }
  },
});

const nudge = defineSignal('nudge');

/** A handler that waits is stopped with the run, and so is each that comes while the run cleans up. */
export const cleansUpBesideHandlers = workflow({
  name: 'cleansUpBesideHandlers',
  fn: async (input) => {
    const place = input as Place;
    setHandler(nudge, () => sleep('1 hour'));
    try {
      await condition(() => false);
    } catch (error) {
      await CancellationScope.nonCancellable(async () => {
        await gatedTryCancel({ ...place, gate: place.key });
        await note({ ...place, value: 'cleaned up' });
      });
      throw error;
    }
  },
});

/** Waits by setTimeout, which cannot tell who waits for it of a cancellation. */
export const waitsByTimeout = workflow({
  name: 'waitsByTimeout',
  fn: async (delayMs) => {
    await new Promise((resolve) => setTimeout(resolve, delayMs as number));
    const next = await settled(sleep('1 hour'));
    await new Promise((resolve) => setTimeout(resolve, 1));
    return next;
  },
});

/** Starts a child and asks it to stop in one breath. */
export const stopsChildAtOnce = workflow({
  name: 'stopsChildAtOnce',
  fn: async (_, { info }) => {
    const workflowId = `${info.workflowId}-child`;
    const child = answersCancel('complete', { workflowId });
    const cancelled = await settled(getExternalWorkflowHandle(workflowId).cancel());
    return { cancelled, child: await child };
  },
});
