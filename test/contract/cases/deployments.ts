import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { deployment, type Stage } from '../stage.js';

/** Workers are replaced by others with changed code while runs are open. */
export function deploymentCases(stage: Stage): void {
  describe('changed code under open runs', () => {
    beforeEach(() => stage.system.redeploy(deployment('first')));
    afterAll(() => stage.system.redeploy(deployment('first')));

    const ran = (key: string) => stage.ledger.entries(key, 'ran').map((entry) => entry.value);

    test('an open run goes on with new workers of the same code, and no step runs again', async () => {
      const place = stage.place();
      const run = await stage.start('changing', place);
      await run.until('ACTIVITY_TASK_COMPLETED');
      await stage.system.redeploy(deployment('first'));
      await run.signal('finish');
      expect(await run.result()).toEqual({ version: 'first', way: 'old' });
      expect(ran(place.key)).toEqual(['old']);
    });

    test('patched: an old run keeps the old way, a new run takes the new one (WT-19)', async () => {
      const places = [stage.place(), stage.place()] as const;
      const old = await stage.start('changing', places[0]);
      await old.until('ACTIVITY_TASK_COMPLETED');
      await stage.system.redeploy(deployment('second'));
      const young = await stage.start('changing', places[1]);
      await young.until('ACTIVITY_TASK_COMPLETED');
      await Promise.all([old.signal('finish'), young.signal('finish')]);
      expect(await young.result()).toEqual({ version: 'second', way: 'new', stillPatched: true });
      expect(await old.result()).toMatchObject({ version: 'second', way: 'old' });
      expect([ran(places[0].key), ran(places[1].key)]).toEqual([['old'], ['new']]);
      const markers = await young.eventsOf('MARKER_RECORDED');
      expect(markers.map((event) => event.attributes.details)).toEqual([
        { patchId: 'new-way', deprecated: false },
      ]);
    });

    test('deprecatePatch: runs with the patch go on, and those with the deprecation go on without it (WT-19)', async () => {
      await stage.system.redeploy(deployment('second'));
      const patched = await stage.start('changing', stage.place());
      await patched.until('ACTIVITY_TASK_COMPLETED');
      await stage.system.redeploy(deployment('third'));
      const deprecated = await stage.start('changing', stage.place());
      await deprecated.until('ACTIVITY_TASK_COMPLETED');
      await patched.signal('finish');
      expect(await patched.result()).toEqual({ version: 'third', way: 'new' });
      const markers = await deprecated.eventsOf('MARKER_RECORDED');
      expect(markers.map((event) => event.attributes.details)).toEqual([
        { patchId: 'new-way', deprecated: true },
      ]);
      await stage.system.redeploy(deployment('fourth'));
      await deprecated.signal('finish');
      expect(await deprecated.result()).toEqual({ version: 'fourth', way: 'new' });
    });

    test('code that does not fit is held back, says so, and goes on when fitting code is there (WT-02)', async () => {
      const place = stage.place();
      const run = await stage.start('careless', place);
      await run.until('ACTIVITY_TASK_COMPLETED');
      await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
      await stage.system.redeploy(deployment('second'));
      await run.signal('finish');
      const failed = await run.until('WORKFLOW_TASK_FAILED');
      expect(failed.attributes.cause).toBe('NON_DETERMINISTIC_ERROR');
      const held = await run.describe();
      expect(held).toMatchObject({
        status: 'running',
        heldBack: { reason: expect.any(String), since: expect.any(Number) },
      });
      // The reader learns what the history has and what the code did instead.
      expect(held.heldBack!.reason).toMatch(/oldWay|ACTIVITY_?TASK_?SCHEDULED/i);
      expect(held.heldBack!.reason).toMatch(/timer|sleep/i);
      expect(ran(place.key)).toEqual(['old']);
      const { isStuck, reasons } = await run.why();
      expect(isStuck).toBe(true);
      expect(reasons[0]).toMatchObject({ code: 'heldBack', reason: held.heldBack!.reason });

      await stage.system.redeploy(deployment('first'));
      expect(await run.result()).toEqual({ version: 'first', way: 'old' });
      expect((await run.describe()).heldBack).toBeUndefined();
      expect(ran(place.key)).toEqual(['old']);
      // One failure is in the history, however often the turn was tried (WT-26).
      expect((await run.eventsOf('WORKFLOW_TASK_FAILED')).length).toBeLessThanOrEqual(2);
    });

    test('a run that is held back can be terminated, and its queries end (QU-05)', async () => {
      const run = await stage.start('careless', stage.place());
      await run.until('ACTIVITY_TASK_COMPLETED');
      await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
      await stage.system.redeploy(deployment('second'));
      await run.signal('finish');
      await run.until('WORKFLOW_TASK_FAILED');
      await expect(run.query('signals')).rejects.toMatchObject({ status: expect.any(Number) });
      await run.terminate('beyond repair');
      expect((await run.outcome()).status).toBe('terminated');
    });

    test('a run whose workflow is not deployed any more waits until it is', async () => {
      const run = await stage.start('withdrawn');
      await run.until('WORKFLOW_TASK_COMPLETED');
      await stage.system.redeploy(deployment('second'));
      await run.signal('finish');
      // Other runs of the deployment are not held up by it.
      const other = await stage.start('repairs', stage.place());
      expect(await other.result()).toBe('repaired');
      expect((await run.describe()).status).toBe('running');
      await stage.system.redeploy(deployment('first'));
      expect(await run.result()).toBe('back again');
    });

    test('a step that was repaired succeeds at its next attempt', async () => {
      const place = stage.place();
      const run = await stage.start('repairs', place);
      await stage.ledger.until(place.key, 'ran', 2);
      await stage.system.redeploy(deployment('second'));
      expect(await run.result()).toBe('repaired');
      expect(ran(place.key).slice(-1)).toEqual(['repaired']);
    });

    test('a step that is not deployed any more is tried again until it is (AC-18)', async () => {
      const place = stage.place();
      const run = await stage.start('repairs', place);
      await stage.ledger.until(place.key, 'ran');
      await stage.system.redeploy(deployment('third'));
      const { length } = stage.ledger.entries(place.key);
      const other = await stage.start('changing', stage.place());
      await other.until('ACTIVITY_TASK_COMPLETED');
      expect((await run.describe()).status).toBe('running');
      expect(stage.ledger.entries(place.key)).toHaveLength(length);
      const { reasons, isStuck } = await run.untilCodes('noWorker', 'stepQueued');
      expect([isStuck, reasons[0]]).toMatchObject([true, { workflowType: 'repairs' }]);
      await stage.system.redeploy(deployment('second'));
      expect(await run.result()).toBe('repaired');
      await other.terminate();
    });

    test('the catalog is that of the last deployment', async () => {
      await stage.system.redeploy(deployment('third'));
      const catalog = await stage.engine.catalog(stage.system.catalog);
      expect(catalog!.workflows.map((workflow) => workflow.entry.name)).toEqual(['changing']);
      expect(catalog!.workflows[0]!.entry.steps.map((step) => step.name)).toEqual(['newWay']);
    });
  });
}
