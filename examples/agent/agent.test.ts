/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment, type TestEnvironment, type TestRun } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startModel } from './model.mjs';
import { lookUpPrice, think } from './steps.js';
import agent from './workflow.js';

const QUESTION = 'What do apple and cheese cost?';
const ANSWER = { answer: 'That is 650 cents.', turns: 4 };

let env: TestEnvironment;
let model: Awaited<ReturnType<typeof startModel>>;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'examples/agent' });
  model = await startModel({ slowMs: 20 });
});
afterEach(async () => {
  await env.close();
  await model.close();
});

test('a model that is slow, busy and broken at times is asked until it answers', async () => {
  const run = await env.start(agent, { question: QUESTION, modelUrl: model.url });
  expect(await run.result()).toEqual(ANSWER);
  expect(run.calls(lookUpPrice).map(({ input }) => input)).toEqual(['apple', 'cheese']);
  // Four turns, and the tries that came to nothing.
  expect(run.calls(think).length).toBe(model.calls());
  expect(model.calls()).toBeGreaterThan(4);
  expect(await run.query('conversation')).toMatchObject({ length: 7 });
});

test('it costs what the model and the price list take, to the last digit', async () => {
  const run = await env.start(agent, { question: QUESTION, modelUrl: model.url });
  await run.result();
  const { totals, bySteps } = await run.cost();
  expect(await amounts(run, 'think')).toEqual(['0.00255', '0.00435', '0.00615', '0.00735']);
  expect(await amounts(run, 'lookUpPrice')).toEqual(['0.0005', '0.0005']);
  expect(totals).toEqual([{ currency: 'USD', amount: '0.0214' }]);
  expect(bySteps).toMatchObject([
    { stepName: 'think', totals: [{ amount: '0.0204' }] },
    { stepName: 'lookUpPrice', totals: [{ amount: '0.001' }] },
  ]);
});

test('it answers whatever goes wrong, and all that was spent on the way is told', async () => {
  await crashEverywhere(env, async (each) => {
    const run = await each.start(agent, { question: QUESTION, modelUrl: model.url });
    const result = await run.result();
    const { totals, records } = await run.cost();
    const spent = records.reduce((sum, { amount }) => sum + nanos(amount), 0n);
    // An attempt whose worker was lost is made again, and costs again; the sum has no digit that the parts have not.
    return {
      result,
      isExact: totals.length === 1 && nanos(totals[0]!.amount) === spent,
      prices: [...new Set(await amounts(run, 'think'))],
      tools: [...new Set(await amounts(run, 'lookUpPrice'))],
    };
  });
}, 120_000);

async function amounts(run: TestRun, step: string): Promise<string[]> {
  const { records } = await run.cost();
  return records.filter(({ stepName }) => stepName === step).map(({ amount }) => amount);
}

/** Billionths, which is as small as amounts get. */
function nanos(amount: string): bigint {
  const [whole = '', decimals = ''] = amount.split('.');
  return BigInt(whole + decimals.padEnd(9, '0'));
}
