/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment, type TestEnvironment, type TestRun } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import review from './workflow.js';

const INPUT = { title: 'On patience', text: 'It takes a while.', reviewer: 'https://reviews.example/new' };

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'examples' });
  // The reviewer is nobody's server here.
  env.mock('sendHttpRequest', async () => ({ status: 202 }));
});
afterEach(() => env.close());

/** Where the reviewer was told to answer. */
function addressIn(run: TestRun<typeof review>): string {
  const { input } = run.calls('sendHttpRequest')[0]!;
  return (input as { payload: { answerTo: string } }).payload.answerTo;
}

test('publishes what was accepted, however late the verdict comes', async () => {
  const run = await env.start(review, INPUT);
  expect(run.calls('sendHttpRequest')).toMatchObject([
    { input: { url: INPUT.reviewer, payload: { title: 'On patience', text: 'It takes a while.' } } },
  ]);
  await env.advance('90 days');
  await env.callback(addressIn(run), { accepted: true, note: 'well said' });
  expect(await run.result()).toEqual({ published: '/articles/on-patience', note: 'well said' });
});

test('publishes nothing that was refused', async () => {
  const run = await env.start(review, INPUT);
  await env.callback(addressIn(run), { accepted: false });
  expect(await run.result()).toEqual({ published: null, note: '' });
  expect(run.calls('publish')).toEqual([]);
});

test('does so whatever goes wrong', async () => {
  await crashEverywhere(env, async (each) => {
    const run = await each.start(review, INPUT);
    await each.callback(addressIn(run), { accepted: true });
    return run.result();
  });
});
