/** What a run that was reset hears of its children when whoever reset it is gone right after. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { newWorkflowId } from '../../src/core/values/id.js';
import type { RunRef } from '../../src/engine.js';
import { Cluster, type WorkflowService } from '../../src/temporal/cluster/connection.js';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

const WORKFLOW = `
import { condition, defineSignal, setHandler, step, workflow } from 'perdure';
const note = step({ name: 'note', fn: async () => 'noted' });
export const waits = workflow({ name: 'waits', fn: async () => {
  let isOver = false;
  setHandler(defineSignal('finish'), () => { isOver = true; });
  await condition(() => isOver);
  return 'back again';
} });
export const family = workflow({ name: 'family', fn: async ({ childId }) => {
  const child = waits(null, { workflowId: childId }).catch(() => 'gone');
  await note();
  return child;
} });
`;

describeTemporal('a reset by a server that dies right after', () => {
  let deployed: Deployed;
  beforeAll(async () => {
    deployed = await Deployed.start({ files: { 'flow/workflow.js': WORKFLOW } });
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => deployed?.stop());

  /** Of the workflow `family`, once it has its child and has noted something. */
  async function startFamily(childId: string): Promise<RunRef> {
    const run = await deployed.start('family', { childId });
    await vi.waitFor(
      async () => {
        const types = (await deployed.history(run)).map(({ type }) => type);
        expect(types).toContain('CHILD_WORKFLOW_EXECUTION_STARTED');
        expect(types.slice(types.indexOf('ACTIVITY_TASK_COMPLETED'))).toContain('WORKFLOW_TASK_COMPLETED');
      },
      { timeout: 30_000, interval: 50 },
    );
    return run;
  }

  /** The cluster has made the reset, and nothing more comes from the server that asked for it. */
  async function resetAndDie(run: RunRef): Promise<RunRef> {
    const server = await deployed.open();
    let isDead = false;
    const { call } = Cluster.prototype;
    vi.spyOn(Cluster.prototype, 'call').mockImplementation(function (this: Cluster, ask, options) {
      if (isDead) return new Promise(() => {});
      return call.call(this, (service) => ask(dyingAfterReset(service, () => (isDead = true))), options);
    });
    const asked = server.reset(run, { stepName: 'note' });
    await vi.waitFor(() => expect(isDead).toBe(true), { timeout: 10_000 });
    vi.restoreAllMocks();
    asked.catch(() => undefined);
    return deployed.engine.describe({ workflowId: run.workflowId });
  }

  test('tells of the child that ended while its parent was closed', async () => {
    const childId = newWorkflowId('child');
    const run = await startFamily(childId);
    await deployed.engine.terminate(run, 'stop it');
    expect((await deployed.outcome({ workflowId: childId })).status).toBe('cancelled');
    const made = await resetAndDie(run);
    expect(made.runId).not.toBe(run.runId);
    expect(await deployed.outcome(made)).toMatchObject({ status: 'completed', output: '"gone"' });
  });

  test('leaves the child that goes on to the new run', async () => {
    const childId = newWorkflowId('child');
    const run = await startFamily(childId);
    const made = await resetAndDie(run);
    await deployed.engine.signal({ workflowId: childId }, 'finish', []);
    expect(await deployed.outcome(made)).toMatchObject({ status: 'completed', output: '"back again"' });
  });
});

function dyingAfterReset(service: WorkflowService, die: () => void): WorkflowService {
  return new Proxy(service, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== 'function') return method;
      return async (request: object) => {
        const answer = await (method as (request: object) => Promise<unknown>).call(target, request);
        if (name !== 'resetWorkflowExecution') return answer;
        die();
        return new Promise(() => {});
      };
    },
  });
}
