import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { letOthersLook } from './running-code.js';

/** Built code: a thread knows no TypeScript. */
const BUILT = new URL('../../../dist/worker/watchdog/running-code.js', import.meta.url).href;

/**
 * Another thread that asks, tells what it was answered, and ends when it is told to: like a watchdog's it stays until this
 * one has seen the end of the looks.
 */
async function asked(withinMs: number): Promise<{ answer: Promise<unknown>; end(): Promise<unknown[]> }> {
  const thread = new Worker(
    `const { parentPort } = require('node:worker_threads');
    import(${JSON.stringify(BUILT)}).then(async ({ runningStep }) => {
      parentPort.postMessage('asks');
      parentPort.postMessage({ step: await runningStep(AbortSignal.timeout(${withinMs})) });
    });
    parentPort.on('message', () => parentPort.close());`,
    { eval: true },
  );
  const ended = once(thread, 'exit');
  await once(thread, 'message');
  const end = () => {
    thread.postMessage('end');
    return ended;
  };
  return { answer: once(thread, 'message').then(([message]) => message), end };
}

/** Lets nothing else run on this thread. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('another thread sees whose code this one executes, also while it does nothing else', async () => {
  letOthersLook(() => 'a step');
  const { answer, end } = await asked(60_000);
  block(500);
  expect(await answer).toEqual({ step: 'a step' });
  expect(await end()).toEqual([0]);
});

test('a look that takes longer than anybody waits for it ends nobody', async () => {
  let looked = false;
  letOthersLook(() => {
    looked = true;
    block(1_000);
    return 'a step';
  });
  const { answer, end } = await asked(300);
  for (const until = performance.now() + 30_000; !looked && performance.now() < until; ) block(1);
  expect(await answer).toEqual({ step: undefined });
  expect(await end()).toEqual([0]);
  expect(looked).toBe(true);
});
