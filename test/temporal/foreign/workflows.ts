/** Workflows of another maker: written with Temporal's own SDK, keeping only the conventions of the wire contract. */
import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  proxyActivities,
  setHandler,
  upsertMemo,
} from '@temporalio/workflow';
import { declined } from './thrown.js';

const steps = proxyActivities<{ hello(name: string): Promise<string>; decline(): Promise<never> }>({
  startToCloseTimeout: '10s',
  retry: { maximumAttempts: 1 },
});

/** The registration: its id is the catalog's name. */
export async function registration(workflows: unknown[]): Promise<void> {
  setHandler(defineQuery('get'), () => ({ workflows }));
  await condition(() => false);
}

export async function greet({ name }: { name: string }): Promise<string> {
  upsertMemo({ payloadVersion: '2', trace: { remote: 's3://traces/greet.json' } });
  return steps.hello(name);
}

export async function greetOfOld({ name }: { name: string }): Promise<unknown> {
  return { output: await steps.hello(name), trace: { destinations: { local: '/traces/greet.json' } } };
}

export async function failOfOld(): Promise<never> {
  throw ApplicationFailure.create({
    type: 'CardDeclined',
    message: 'no funds',
    nonRetryable: true,
    details: [{ trace: { remote: 's3://traces/fail.json' } }],
  });
}

export async function failInStep(): Promise<unknown> {
  upsertMemo({ payloadVersion: '2' });
  return steps.decline();
}

const { 'pay#charge': charge } = proxyActivities<{ 'pay#charge'(): Promise<never> }>({
  startToCloseTimeout: '10s',
});

/** Fails in a step, or by itself, with what was thrown in the details. */
export async function pay({ how }: { how: 'step' | 'self' }): Promise<unknown> {
  upsertMemo({ payloadVersion: '2', trace: { local: '/logs/runs/pay/2026-01-01_pay.json' } });
  if (how === 'self') throw declined();
  return charge();
}

/** Fails as its child does, which it leaves as it is. */
export async function paySeveral(): Promise<unknown> {
  upsertMemo({ payloadVersion: '2' });
  return executeChild(pay, { args: [{ how: 'step' }] });
}

/** Waits for a callback, and takes messages meanwhile. */
export async function counter(): Promise<number> {
  upsertMemo({ payloadVersion: '2' });
  let count = 0;
  let isDone = false;
  setHandler(defineSignal('resume'), () => {
    isDone = true;
  });
  setHandler(defineQuery('count'), () => count);
  setHandler(defineQuery('broken'), () => {
    throw new Error('no answer to that');
  });
  setHandler(
    defineUpdate<number, [number]>('add'),
    (by) => {
      if (by === 13) throw ApplicationFailure.create({ message: 'thirteen brings bad luck' });
      count += by;
      return count;
    },
    {
      validator: (by) => {
        if (by < 0) throw new Error('only upwards');
      },
    },
  );
  await condition(() => isDone);
  return count;
}
