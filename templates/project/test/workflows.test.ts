import { crashEverywhere, createTestEnvironment, type TestEnvironment } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { charge, refund } from '../workflows/order/steps.js';
import order from '../workflows/order/workflow.js';
import { sendMail } from '../workflows/welcome/steps.js';
import welcome from '../workflows/welcome/workflow.js';

const ORDER = { orderId: 'A-1', cents: 1999 };

// The engine itself, in this process and in memory, with a clock that jumps over waiting.
let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'workflows' });
  env.mock(charge, async ({ orderId }) => ({ receipt: `receipt-${orderId}` }));
});
afterEach(() => env.close());

test('welcome asks a week later how it goes', async () => {
  const run = await env.start(welcome, { name: 'Ada', askAfter: '7 days' });
  expect(run.calls(sendMail)).toHaveLength(1);
  await env.advance('7 days');
  expect((await run.result()).mails).toHaveLength(2);
});

test('an order is shipped once a person has approved it', async () => {
  const run = await env.start(order, ORDER);
  expect(await run.query('stage')).toBe('waiting for approval');
  await run.signal('approve', { by: 'ada' });
  expect(await run.result()).toEqual({ outcome: 'shipped', tracking: 'parcel-A-1' });
});

test('the money is given back when nobody approves for three days', async () => {
  const run = await env.start(order, ORDER);
  expect(await run.result()).toEqual({ outcome: 'refunded' });
  expect(run.calls(refund)).toEqual([{ input: { receipt: 'receipt-A-1' }, attempt: 1 }]);
});

test('an order ends the same way whatever crashes on its way', async () => {
  await crashEverywhere(env, async (each) => {
    const run = await each.start(order, ORDER);
    await run.signal('approve', { by: 'ada' });
    return run.result();
  });
});
