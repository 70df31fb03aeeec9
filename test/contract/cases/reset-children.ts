import { describe, expect, test } from 'vitest';
import { type Run, type Stage, unique } from '../stage.js';

/** What becomes of the children of a run that is reset, and of one that is terminated and reset then. */
export function resetChildrenCases(stage: Stage): void {
  /** A run with one child from before the step that it is reset to and one from after it, both waiting. */
  async function startFamily() {
    const ids = { before: unique('before'), after: unique('after') };
    const run = await stage.start('namedFamilyReset', { ...stage.place(), ...ids });
    await run.until('CHILD_WORKFLOW_EXECUTION_STARTED', 2);
    const before = await stage.attach(ids.before);
    const after = await stage.attach(ids.after);
    return { run, before, after };
  }

  const reset = (run: Run) => run.reset({ stepName: 'note', reason: 'the rest again' });

  /** The run of that child's id which the new run of its parent has started. */
  async function startedAgain(parent: Run, child: Run): Promise<Run> {
    await parent.untilEvent(
      (event) =>
        event.type === 'CHILD_WORKFLOW_EXECUTION_STARTED' &&
        event.attributes.workflowExecution.workflowId === child.workflowId &&
        event.attributes.workflowExecution.runId !== child.runId,
    );
    return stage.attach(child.workflowId);
  }

  describe('children of a run that is reset (RS-12)', () => {
    test('one from after the point is terminated, and the new run starts it again under its id', async () => {
      const { run, before, after } = await startFamily();
      const again = await reset(run);
      expect(await after.outcome()).toMatchObject({
        status: 'terminated',
        failure: { message: 'the parent was reset' },
      });
      const anew = await startedAgain(again, after);
      expect(anew.runId).not.toBe(after.runId);
      await before.signal('finish');
      await anew.signal('finish');
      expect(await again.result()).toEqual(['back again', 'back again']);
      expect((await before.outcome()).status).toBe('completed');
    });

    test('one from after the point that has ended is started again under its id', async () => {
      const { run, before, after } = await startFamily();
      await after.signal('finish');
      await run.until('CHILD_WORKFLOW_EXECUTION_COMPLETED');
      const again = await reset(run);
      const anew = await startedAgain(again, after);
      expect((await after.outcome()).status).toBe('completed');
      await before.signal('finish');
      await anew.signal('finish');
      expect(await again.result()).toEqual(['back again', 'back again']);
    });

    test('one from before the point that has ended since is not started again: the new run has its result', async () => {
      const { run, before, after } = await startFamily();
      await before.signal('finish');
      await run.until('CHILD_WORKFLOW_EXECUTION_COMPLETED');
      const again = await reset(run);
      await (await startedAgain(again, after)).signal('finish');
      expect(await again.result()).toEqual(['back again', 'back again']);
      expect((await stage.attach(before.workflowId)).runId).toBe(before.runId);
    });

    test('one from before the point that has failed since has failed for the new run as well', async () => {
      const { run, before, after } = await startFamily();
      await before.terminate('enough of it');
      await run.until('CHILD_WORKFLOW_EXECUTION_TERMINATED');
      const again = await reset(run);
      await (await startedAgain(again, after)).signal('finish');
      expect(await again.result()).toEqual(['failed', 'back again']);
    });

    test('when the run had been terminated, its children were cancelled, and the new run hears of it', async () => {
      const { run, before, after } = await startFamily();
      await run.terminate('stop it');
      expect((await before.outcome()).status).toBe('cancelled');
      expect((await after.outcome()).status).toBe('cancelled');
      const again = await reset(run);
      await (await startedAgain(again, after)).signal('finish');
      expect(await again.result()).toEqual(['failed', 'back again']);
    });

    test('those of a newer run that ends by the reset of an older one are terminated', async () => {
      const { run, before, after } = await startFamily();
      const second = await reset(run);
      const ofSecond = await startedAgain(second, after);
      const third = await reset(run);
      expect((await second.outcome()).status).toBe('terminated');
      expect((await ofSecond.outcome()).status).toBe('terminated');
      const ofThird = await startedAgain(third, ofSecond);
      await before.signal('finish');
      await ofThird.signal('finish');
      expect(await third.result()).toEqual(['back again', 'back again']);
    });
  });
}
