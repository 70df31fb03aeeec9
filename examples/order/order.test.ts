/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment, type TestEnvironment } from 'perdure/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { charge, refund, ship } from './steps.js';
import order from './workflow.js';

const INPUT = { orderId: 'A-1', cents: 1999 };

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'examples' });
  env.mock(charge, async ({ orderId }) => ({ receipt: `receipt-${orderId}` }));
});
afterEach(() => env.close());

test('ships once a person has approved', async () => {
  const run = await env.start(order, INPUT);
  expect(await run.query('status')).toBe('waiting for approval');
  await env.advance('2 days');
  await run.signal('approve', { by: 'ada' });
  expect(await run.result()).toEqual({ outcome: 'shipped', tracking: 'parcel-A-1', approvedBy: 'ada' });
  expect(run.calls(ship)).toEqual([{ input: 'A-1', attempt: 1 }]);
});

test('gives the money back when nobody approves for three days', async () => {
  const run = await env.start(order, INPUT);
  await env.advance('3 days');
  expect(await run.result()).toEqual({ outcome: 'refunded' });
  expect(run.calls(refund)).toEqual([{ input: { receipt: 'receipt-A-1' }, attempt: 1 }]);
});

test('fails for good when the card is refused', async () => {
  env.unmock(charge);
  await expect(env.run(order, { orderId: 'A-1', cents: 2_000_000 })).rejects.toMatchObject({
    cause: { name: 'FatalError', message: expect.stringContaining('above the limit') },
  });
});

describe('whatever goes wrong', () => {
  test('an approved order is shipped', async () => {
    await crashEverywhere(env, async (each) => {
      const run = await each.start(order, INPUT);
      await run.signal('approve', { by: 'ada' });
      return run.result();
    });
  });

  test('an order that nobody approves is refunded', async () => {
    await crashEverywhere(env, (each) => each.run(order, INPUT));
  });
});
