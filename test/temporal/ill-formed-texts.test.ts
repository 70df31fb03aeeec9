/** Half a surrogate pair is text to JavaScript and none to protobuf: nothing that has one in it may stop a worker or a call. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

const HALF = '\ud83d';
const WHOLE = '\ufffd';

const WORKFLOW = `
import { workflow, patched, condition, defineQuery, defineSignal, defineUpdate, setHandler, getExternalWorkflowHandle } from 'perdure';
import * as steps from './steps.js';
const half = '\\ud83d';
export const echo = workflow({ name: 'echo', fn: async (input) => input });
export const fails = workflow({ name: 'fails', fn: async (where) => {
  const error = new Error('unknown user ' + half, { cause: new RangeError('cause ' + half) });
  error.name = 'Odd' + half;
  error.code = half;
  if (where === 'step') await steps.fails();
  throw error;
} });
export const failsInStep = workflow({ name: 'failsInStep', fn: () => steps.fails() });
export const beats = workflow({ name: 'beats', fn: () => steps.beats() });
export const returns = workflow({ name: 'returns', fn: async () => ({ half }) });
export const messages = workflow({ name: 'messages', fn: async (other) => {
  let done = false;
  setHandler(defineQuery('breaks'), () => { throw new Error('query ' + half); });
  setHandler(defineUpdate('refuses'), () => 1, { validator: () => { throw new Error('refused ' + half); } });
  setHandler(defineUpdate('breaks'), () => { throw new Error('broken ' + half); });
  setHandler(defineSignal('end'), () => { done = true; });
  await condition(() => done);
} });
export const signals = workflow({ name: 'signals', fn: async (other) => {
  await getExternalWorkflowHandle(other).signal('plain', half);
} });
export const signalName = workflow({ name: 'signalName', fn: (other) =>
  getExternalWorkflowHandle(other).signal('odd' + half) });
export const patchId = workflow({ name: 'patchId', fn: async () => patched('change' + half) });
export const childId = workflow({ name: 'childId', fn: () => echo(1, { workflowId: 'child' + half }) });
`;
const STEPS = `
import { step, stepContext } from 'perdure';
const half = '\\ud83d';
export const fails = step({ name: 'fails', options: { retry: { maximumAttempts: 1 } }, fn: async () => {
  throw Object.assign(new Error('in a step ' + half), { name: 'Odd' + half, detail: half });
} });
export const beats = step({ name: 'beats', options: { retry: { initialInterval: 1 } }, fn: async () => {
  const { attempt, heartbeat, lastHeartbeat } = stepContext();
  if (attempt > 1) return lastHeartbeat;
  heartbeat({ half });
  throw new Error('half way ' + half);
} });
`;

describeTemporal('texts with half a surrogate pair', () => {
  let deployed: Deployed;
  beforeAll(async () => {
    deployed = await Deployed.start({ files: { 'flow/workflow.js': WORKFLOW, 'flow/steps.js': STEPS } });
  });
  afterAll(() => deployed?.stop(), 120_000);

  const stillWorks = async () => {
    expect(await deployed.outcome(await deployed.start('echo', 'still here'))).toMatchObject({
      output: '"still here"',
    });
    expect(deployed.workers.restarts()).toBe(0);
  };

  test('in the error of a workflow: the run fails with it, and the worker goes on', async () => {
    const run = await deployed.start('fails');
    expect(await deployed.outcome(run)).toMatchObject({
      status: 'failed',
      failure: {
        type: `Odd${WHOLE}`,
        message: `unknown user ${WHOLE}`,
        cause: { message: `cause ${WHOLE}` },
      },
    });
    await stillWorks();
  });

  test('in the error and the heartbeat of a step', async () => {
    expect(await deployed.outcome(await deployed.start('failsInStep'))).toMatchObject({
      status: 'failed',
      failure: { message: `in a step ${WHOLE}` },
    });
    expect(await deployed.outcome(await deployed.start('beats'))).toMatchObject({ status: 'completed' });
    await stillWorks();
  });

  test('in a result, an input and a signal', async () => {
    const outcome = await deployed.outcome(await deployed.start('returns'));
    expect(JSON.parse(outcome.output!)).toEqual({ half: HALF });
    expect(await deployed.outcome(await deployed.start('echo', HALF))).toMatchObject({
      output: JSON.stringify(HALF),
    });
    const other = await deployed.start('messages');
    await deployed.outcome(await deployed.start('signals', other.workflowId));
    expect(await deployed.history(other)).toContainEqual(
      expect.objectContaining({
        type: 'WORKFLOW_EXECUTION_SIGNALED',
        attributes: expect.objectContaining({ input: [JSON.stringify(HALF)] }),
      }),
    );
    await deployed.engine.terminate(other, 'done');
    await stillWorks();
  });

  test('in what queries and updates answer', async () => {
    const run = await deployed.start('messages');
    await expect(deployed.engine.query(run, 'breaks', [])).rejects.toMatchObject({
      name: 'QueryFailedError',
      message: `query ${WHOLE}`,
    });
    await expect(deployed.engine.update(run, 'refuses', [])).rejects.toMatchObject({
      name: 'UpdateRejectedError',
      message: `refused ${WHOLE}`,
    });
    await expect(deployed.engine.update(run, 'breaks', [])).rejects.toMatchObject({
      name: 'UpdateFailedError',
      message: `broken ${WHOLE}`,
    });
    await deployed.engine.signal(run, `odd${HALF}`, []);
    await deployed.engine.terminate(run, 'done');
    await stillWorks();
  });

  test('in the reason of a terminate and of a reset', async () => {
    const run = await deployed.start('messages');
    await deployed.engine.terminate(run, `because ${HALF}`);
    expect((await deployed.history(run)).at(-1)).toMatchObject({
      attributes: { reason: `because ${WHOLE}` },
    });
    const beaten = await deployed.start('beats');
    await deployed.outcome(beaten);
    await deployed.outcome(await deployed.engine.reset(beaten, { stepName: 'beats', reason: HALF }));
  });

  test('in the id of a child or a patch, or the name of a signal: refused where it is given', async () => {
    for (const [type, message] of [
      ['childId', 'is not an id'],
      ['patchId', 'without halves of surrogate pairs'],
      ['signalName', 'is not a name for a signal'],
    ] as const) {
      expect(await deployed.outcome(await deployed.start(type, 'somebody'))).toMatchObject({
        status: 'failed',
        failure: { message: expect.stringContaining(message) },
      });
    }
    await stillWorks();
  });
});
