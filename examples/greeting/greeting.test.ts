/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment } from 'perdure/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { composeGreeting } from './steps.js';
import greeting from './workflow.js';

let env: Awaited<ReturnType<typeof createTestEnvironment>>;
beforeAll(async () => {
  env = await createTestEnvironment({ workflows: 'examples' });
});
afterAll(() => env.close());

test('greets in the language asked for', async () => {
  expect(await env.run(greeting, { name: 'Ada', language: 'fr' })).toEqual({ greeting: 'Bonjour, Ada!' });
});

test('asks the step once, in English unless told otherwise', async () => {
  const run = await env.start(greeting, { name: 'Ada' });
  await run.result();
  expect(run.calls(composeGreeting)).toEqual([{ input: { name: 'Ada', language: 'en' }, attempt: 1 }]);
});

test('does so whatever goes wrong', async () => {
  await crashEverywhere(env, (each) => each.run(greeting, { name: 'Ada' }));
});
