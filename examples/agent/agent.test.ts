import { createTestEnvironment, type TestEnvironment } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startModel } from './model.mjs';
import { lookUpPrice, think } from './steps.js';
import agent from './workflow.js';

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
  const run = await env.start(agent, { question: 'What do apple and cheese cost?', modelUrl: model.url });
  expect(await run.result()).toEqual({ answer: 'That is 650 cents.', turns: 4 });
  expect(run.calls(lookUpPrice).map(({ input }) => input)).toEqual(['apple', 'cheese']);
  // Four turns, and the tries that came to nothing.
  expect(run.calls(think).length).toBe(model.calls());
  expect(model.calls()).toBeGreaterThan(4);
  expect(await run.query('conversation')).toMatchObject({ length: 7 });
});
