/** Runs that wait for their retry: nothing but the time begins them. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { RunRef } from '../../src/engine.js';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

const WORKFLOW = `
import { workflow, defineQuery, defineUpdate, setHandler } from 'perdure';
export const fails = workflow({ name: 'fails', options: { retry: { initialInterval: '1h' } }, fn: async () => {
  setHandler(defineQuery('state'), () => 'there');
  setHandler(defineUpdate('change'), () => 'changed');
  throw new Error('not yet');
} });
`;

describeTemporal('a run that waits for its retry', () => {
  let deployed: Deployed;
  beforeAll(async () => {
    deployed = await Deployed.start({ files: { 'flow/workflow.js': WORKFLOW } });
  });
  afterAll(async () => {
    await deployed?.stop();
  });

  /** The run that follows the one that has failed. */
  async function waiting(): Promise<RunRef> {
    const { workflowId, runId } = await deployed.start('fails');
    return vi.waitFor(
      async () => {
        const latest = await deployed.engine.describe({ workflowId });
        expect(latest.runId).not.toBe(runId);
        return { workflowId, runId: latest.runId };
      },
      { timeout: 60_000 },
    );
  }

  test('is not begun by an update or a query, whose callers are told why nobody answers', async () => {
    const { workflowId, runId } = await waiting();
    for (const call of ['update', 'query'] as const) {
      const name = call === 'update' ? 'change' : 'state';
      await expect(deployed.engine[call]({ workflowId }, name, [])).rejects.toThrow(
        /^the run waits for its retry, and answers once that has begun at 20/,
      );
    }
    const events = await deployed.history({ workflowId, runId });
    expect(events.map(({ type }) => type)).toEqual(['WORKFLOW_EXECUTION_STARTED']);
  });

  test('is not ended by a reset that cannot be made', async () => {
    const run = await waiting();
    await expect(deployed.engine.reset(run, { toStart: true })).rejects.toMatchObject({
      name: 'StepNotCompletedError',
    });
    expect(await deployed.engine.describe(run)).toMatchObject({ status: 'running' });
  });
});
