/** What is too large for a cluster ends the run, typed, instead of being tried for ever; and nothing else is touched by it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

const WORKFLOW = `
import { workflow, condition, defineQuery, defineSignal, defineUpdate, setHandler } from 'perdure';
import * as steps from './steps.js';
const large = (length) => 'x'.repeat(length);
export const parallel = workflow({ name: 'parallel', fn: async ({ count, length }) => {
  const found = await Promise.all(Array.from({ length: count }, () => steps.measures(large(length))));
  return found.length;
} });
export const fails = workflow({ name: 'fails', fn: async (length) => {
  throw Object.assign(new RangeError('m' + large(length)), { code: 'E' });
} });
export const failsWithMore = workflow({ name: 'failsWithMore', fn: async (length) => {
  throw Object.assign(new RangeError('more'), { more: large(length) });
} });
export const answers = workflow({ name: 'answers', fn: async () => {
  let isOver = false;
  setHandler(defineQuery('large'), (length) => large(length));
  setHandler(defineUpdate('large'), (length) => large(length));
  setHandler(defineUpdate('refuses'), () => 1, { validator: (length) => { throw new Error('no ' + large(length)); } });
  setHandler(defineSignal('end'), () => { isOver = true; });
  await condition(() => isOver);
  return 'over';
} });
`;
const STEPS = `
import { step } from 'perdure';
export const measures = step({ name: 'measures', fn: async (text) => text.length });
`;

describeTemporal('sizes', () => {
  let deployed: Deployed;
  beforeAll(async () => {
    deployed = await Deployed.start({ files: { 'flow/workflow.js': WORKFLOW, 'flow/steps.js': STEPS } });
  });
  afterAll(() => deployed?.stop(), 120_000);

  test('a turn that asks for more than a message to the cluster holds fails its run', async () => {
    const run = await deployed.start('parallel', { count: 3, length: 1_500_000 });
    expect(await deployed.outcome(run)).toMatchObject({
      status: 'failed',
      failure: { type: 'LimitExceededError', message: expect.stringContaining('bytes') },
    });
    const types = (await deployed.history(run)).map(({ type }) => type);
    expect(types).not.toContain('ACTIVITY_TASK_SCHEDULED');
    expect(types).not.toContain('WORKFLOW_TASK_FAILED');
  });

  test.each([
    { count: 2, length: 1_900_000 },
    { count: 100, length: 35_000 },
  ])('a turn that just fits is made: %o', async (input) => {
    expect(await deployed.outcome(await deployed.start('parallel', input))).toMatchObject({
      status: 'completed',
      output: `${input.count}`,
    });
  });

  test.each(['fails', 'failsWithMore'])('a run that %s with a long story has failed', async (type) => {
    for (const length of [1_500_000, 5_000_000]) {
      expect(await deployed.outcome(await deployed.start(type, length))).toMatchObject({
        status: 'failed',
        failure: { type: 'RangeError', message: expect.stringMatching(/^m/) },
      });
    }
  });

  test('an update that answers with too much fails its run, whose code still fits it', async () => {
    const run = await deployed.start('answers');
    // The update has a turn to itself then, of which the cluster writes down nothing before it succeeds.
    await deployed.engine.query(run, 'large', ['3']);
    await expect(deployed.engine.update(run, 'large', ['3000000'])).rejects.toMatchObject({
      name: 'UpdateFailedError',
    });
    expect(await deployed.outcome(run)).toMatchObject({
      status: 'failed',
      failure: { type: 'LimitExceededError', message: expect.stringContaining('completeUpdate') },
    });
    await deployed.workers.stop(100);
    await deployed.startWorkers();
    expect(await deployed.engine.query(run, 'large', ['3'])).toBe('"xxx"');
  });

  test('what is larger than any message to the cluster is refused as too large', async () => {
    const large = 'x'.repeat(4_500_000);
    const refused = { name: 'PayloadTooLargeError' };
    await expect(deployed.start('answers', large)).rejects.toMatchObject(refused);
    const run = await deployed.start('answers');
    const input = [JSON.stringify(large)];
    await expect(deployed.engine.signal(run, 'end', input)).rejects.toMatchObject(refused);
    await expect(deployed.engine.update(run, 'refuses', input)).rejects.toMatchObject(refused);
    await expect(deployed.engine.query(run, 'large', input)).rejects.toMatchObject(refused);
    await deployed.engine.terminate(run, 'over');
  });

  test('an update that is refused with a long story leaves its run alone', async () => {
    const run = await deployed.start('answers');
    await expect(deployed.engine.update(run, 'refuses', ['5000000'])).rejects.toMatchObject({
      name: 'UpdateRejectedError',
      message: expect.stringMatching(/^no x/),
    });
    await deployed.engine.signal(run, 'end', []);
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed' });
  });

  test('an answer to a query that is too large fails the query, and the run goes on', async () => {
    const run = await deployed.start('answers');
    expect(await deployed.engine.query(run, 'large', ['1000000'])).toHaveLength(1_000_002);
    await expect(deployed.engine.query(run, 'large', ['5000000'])).rejects.toMatchObject({
      name: 'QueryFailedError',
    });
    await deployed.engine.signal(run, 'end', []);
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed' });
    expect(deployed.workers.restarts()).toBe(0);
  });
});
