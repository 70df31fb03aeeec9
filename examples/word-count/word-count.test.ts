/** How the example behaves, as an author would test it. */
import { crashEverywhere, createTestEnvironment, type TestEnvironment } from 'perdure/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { countWords } from './steps.js';
import wordCount from './workflow.js';

const TEXTS = ['to be or not to be', 'that is the question'];

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows: 'examples' });
});
afterEach(() => env.close());

test('counts each text', async () => {
  expect(await env.run(wordCount, { texts: TEXTS })).toEqual({ total: 10, perText: [6, 4] });
});

test('a text that cannot be counted does not spoil the others', async () => {
  env.mock(countWords, async (text) => {
    if (text.startsWith('that')) throw new Error('no');
    return 6;
  });
  expect(await env.run(wordCount, { texts: TEXTS })).toEqual({ total: 6, perText: [6, null] });
});

test('counts the same whatever goes wrong', async () => {
  await crashEverywhere(env, (each) => each.run(wordCount, { texts: [...TEXTS, 'whether', "'tis nobler"] }));
});
