import { describe, expect, test } from 'vitest';
import { takeOneIn } from '../../../test/share.js';
import { describeTemporal } from '../../../test/temporal/required.js';
import { CATALOG_WORKFLOW_TYPE } from '../cluster/conventions.js';
import { STEPS, WorkerStage } from './worker-stage.fixture.js';

describeTemporal('a Temporal worker', () => {
  takeOneIn(2);
  const stage = new WorkerStage();

  describe('the registration', () => {
    const registration = () => stage.client.workflow.getHandle(stage.catalog);

    test('is made once by however many workers start together, and says the same after a deployment of the same', async () => {
      await stage.begin({ count: 2 }).ready;
      const { runId, memo, type } = await registration().describe();
      expect(type).toBe(CATALOG_WORKFLOW_TYPE);
      expect(memo?.workflowNames).toMatchObject({ greets: 'greets', hello: 'greets' });
      const history = await stage.client.workflow.getHandle(stage.catalog, runId).fetchHistory();
      expect(history.events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId).toBe(runId);
      await stage.redeploy();
      const { memo: later, status } = await registration().describe();
      expect({ names: later?.workflowNames, status: status.name }).toEqual({
        names: memo?.workflowNames,
        status: 'RUNNING',
      });
      const { workflows } = (await registration().query('get')) as { workflows: { name: string }[] };
      expect(workflows.map(({ name }) => name)).toContain('greets');
    });

    test('follows new code, also where only a step is described otherwise, and outlives its workers', async () => {
      await stage.begin().ready;
      const { runId } = await registration().describe();
      stage.write({
        'flow/steps.js': STEPS.replace(`name: 'greet',`, `name: 'greet', description: 'says hello',`),
      });
      await stage.redeploy();
      const second = await registration().describe();
      expect(second.runId).not.toBe(runId);
      await stage.workers!.stop(0);
      expect((await registration().describe()).status.name).toBe('RUNNING');
      expect(JSON.stringify(await registration().fetchHistory())).not.toContain('workflowTaskFailed');
    });

    test('leaves a run of that id alone, and says what is in the way', async () => {
      const handle = await stage.client.workflow.start('something', {
        taskQueue: 'elsewhere',
        workflowId: stage.catalog,
      });
      await expect(stage.begin().ready).rejects.toThrow(
        `a run of workflow "something" has the id "${stage.catalog}", under which this catalog would be registered`,
      );
      const { status, type } = await handle.describe();
      expect([status.name, type]).toEqual(['RUNNING', 'something']);
      await handle.terminate();
      await stage.begin().ready;
      expect((await registration().describe()).type).toBe(CATALOG_WORKFLOW_TYPE);
    });

    test('takes the place of a registration of another maker', async () => {
      const memo = { workflowNames: { greets: 'greets' } };
      await stage.client.workflow.start('catalog', {
        taskQueue: stage.catalog,
        workflowId: stage.catalog,
        memo,
      });
      await stage.begin().ready;
      expect((await registration().describe()).type).toBe(CATALOG_WORKFLOW_TYPE);
    });

    test('that somebody ends is made again', async () => {
      await stage.begin().ready;
      const { runId } = await registration().describe();
      await registration().terminate('by mistake');
      await expect
        .poll(
          async () => {
            const { status, runId: now } = await registration().describe();
            return status.name === 'RUNNING' && now !== runId;
          },
          { timeout: 30_000 },
        )
        .toBe(true);
      expect(await stage.run('greets', { name: 'Ada' })).toEqual({ greeting: 'Hello, Ada' });
    });

    test('that somebody asks to stop, as any workflow can, stays', async () => {
      await stage.begin().ready;
      const { runId } = await registration().describe();
      await registration().cancel();
      const { workflows } = (await registration().query('get')) as { workflows: { name: string }[] };
      expect(workflows.map(({ name }) => name)).toContain('greets');
      const now = await registration().describe();
      expect([now.status.name, now.runId]).toEqual(['RUNNING', runId]);
    });

    test('that is too large for the cluster is refused in words', async () => {
      const description = 'x'.repeat(3 * 1024 * 1024);
      stage.write({
        'big/workflow.js': `import { workflow } from 'perdure'; export default workflow({ name: 'big', description: '${description}', fn: () => 1 });`,
      });
      await expect(stage.begin().ready).rejects.toThrow(
        /take \d+ bytes, and the Temporal cluster keeps at most 2097152/,
      );
    });
  });
});
