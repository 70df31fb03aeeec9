/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment, type TestEnvironment } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bill } from './steps.js';
import subscription from './workflow.js';

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'examples', startTime: '2026-01-01' });
});
afterEach(() => env.close());

test('bills every thirty days, over as many runs as it takes', async () => {
  const run = await env.start(subscription, { customer: 'ada', periods: 7 });
  expect(await run.result()).toEqual({ invoices: 7, last: 'invoice-ada-7' });
  expect(run.calls(bill)).toHaveLength(7);
  expect(env.now().toISOString()).toBe('2026-06-30T00:00:00.000Z');
});

test('ends with the period in which it is cancelled', async () => {
  const run = await env.start(subscription, { customer: 'ada', periods: 12 });
  await env.advance('100 days');
  expect(await run.query('billed')).toBe(4);
  await run.signal('cancel');
  const latest = env.handle(run.workflowId);
  expect(await latest.result()).toEqual({ invoices: 4, last: 'invoice-ada-4' });
});

test('bills as often whatever goes wrong', async () => {
  await crashEverywhere(env, (each) => each.run(subscription, { customer: 'ada', periods: 4 }));
});
