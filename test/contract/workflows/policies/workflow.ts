import { condition, defineSignal, setHandler, sleep, workflow, workflowInfo } from 'perdure';
import type { Place } from '../shared/ledger.js';
import { note } from '../shared/steps/recording.js';

class HopelessError extends Error {
  override readonly name = 'HopelessError';
}

/** Fails until its third attempt. */
export const triedAgain = workflow({
  name: 'triedAgain',
  options: {
    retry: { initialInterval: '20ms', maximumAttempts: 3, nonRetryableErrorTypes: ['HopelessError'] },
  },
  fn: async (input, context) => {
    const { failures, hopeless, ...place } = input as Place & { failures: number; hopeless?: boolean };
    const { attempt } = context.info;
    await note({ ...place, value: attempt });
    if (hopeless) throw new HopelessError('no use');
    if (attempt <= failures) throw new Error(`attempt ${attempt} of the run failed`);
    return { attempt };
  },
});

export const waitsWithRetry = workflow({
  name: 'waitsWithRetry',
  options: { retry: { initialInterval: '10ms' } },
  fn: async () => {
    await condition(() => false);
  },
});

export const outOfTime = workflow({
  name: 'outOfTime',
  options: { executionTimeout: '150ms' },
  fn: async () => {
    await condition(() => false);
  },
});

export const waitsInItsTime = workflow({
  name: 'waitsInItsTime',
  options: { executionTimeout: '10s' },
  fn: async (input) => {
    let isFinished = false;
    setHandler(defineSignal('finish'), () => {
      isFinished = true;
    });
    await note({ ...(input as Place), value: 'before' });
    await condition(() => isFinished);
    return 'in time';
  },
});

/** Its time is that of the whole chain, not of each run. */
export const outOfTimeInChain = workflow({
  name: 'outOfTimeInChain',
  options: { executionTimeout: '3s' },
  fn: async (input, context) => {
    await sleep(10);
    return context.control.continueAsNew(Number(input) + 1);
  },
});

export const outOfTimeWhileRetried = workflow({
  name: 'outOfTimeWhileRetried',
  options: { executionTimeout: '300ms', retry: { initialInterval: '10ms', maximumAttempts: 0 } },
  fn: async () => {
    await sleep(5);
    throw new Error('again and again');
  },
});

export const inTime = workflow({
  name: 'inTime',
  options: { executionTimeout: '1 hour' },
  fn: async () => 'in time',
});

/** Its second run is an hour away. */
export const triedAgainLater = workflow({
  name: 'triedAgainLater',
  options: { retry: { initialInterval: '1h', maximumInterval: '1h' } },
  fn: async () => {
    await sleep(1);
    if (workflowInfo().attempt === 1) throw new Error('attempt 1 of the run failed');
  },
});
