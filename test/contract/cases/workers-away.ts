import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

/** No worker is connected for a while; nothing is lost and nobody waits without end. */
export function workersAwayCases(stage: Stage): void {
  describe('while no worker is there', () => {
    beforeEach(() => stage.system.stopWorkers());
    afterAll(() => stage.system.startWorkers());

    test('starts are accepted and run when a worker comes', async () => {
      const runs = await Promise.all([1, 2, 3].map((value) => stage.start('echo', value)));
      for (const run of runs) expect((await run.describe()).status).toBe('running');
      await stage.system.startWorkers();
      expect(await Promise.all(runs.map((run) => run.result()))).toEqual([1, 2, 3]);
    });

    test('the catalog stays known', async () => {
      const catalog = await stage.engine.catalog(stage.system.catalog);
      expect(catalog!.workflows.map((workflow) => workflow.entry.name)).toContain('echo');
    });

    test('signals before the first turn are there before the workflow looks (SG-03)', async () => {
      const run = await stage.start('looksAtOnce');
      for (const value of [1, 2, 3]) await run.signal('add', value);
      await stage.system.startWorkers();
      expect(await run.result()).toEqual([1, 2, 3]);
    });

    test('a run that is cancelled before its first turn starts and sees it (CA-06)', async () => {
      const run = await stage.start('answersCancel', 'complete');
      await run.cancel();
      await stage.system.startWorkers();
      expect(await run.result()).toBe('wound up');
    });

    test('a run that is terminated before its first turn never runs', async () => {
      const place = stage.place();
      const run = await stage.start('parallelSteps', { ...place, count: 2 });
      await run.terminate();
      await stage.system.startWorkers();
      expect(await stage.run('echo', 'after')).toBe('after');
      expect(stage.ledger.entries(place.key)).toEqual([]);
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_TERMINATED']);
    });

    test('a query and an update end with an error that says why (QU-10, UP-21)', async () => {
      const run = await stage.start('counts');
      const unavailable = { name: 'EngineUnavailableError', status: 503 };
      await Promise.all([
        expect(run.query('count')).rejects.toMatchObject(unavailable),
        expect(run.update('any')).rejects.toMatchObject(unavailable),
      ]);
      await stage.system.startWorkers();
      // On a busy machine the first that is asked may not be answered in time.
      await expect.poll(() => run.query('count').catch(({ name }: Error) => name)).toBe(0);
      await run.terminate();
    });

    test('a turn brings signals before what else happened, each in order (WT-16)', async () => {
      await stage.system.startWorkers();
      const run = await stage.start('turnOrder');
      await run.until('TIMER_STARTED');
      await stage.system.stopWorkers();
      await run.until('TIMER_FIRED');
      await run.signal('add', 1);
      await run.signal('add', 2);
      await stage.system.startWorkers();
      expect(await run.result()).toEqual(['signal 1', 'signal 2', 'timer']);
    });

    test('timers that fell due meanwhile fire when it is over, in order', async () => {
      await stage.system.startWorkers();
      const run = await stage.start('timerOrder');
      await run.until('TIMER_STARTED', 3);
      await stage.system.stopWorkers();
      await run.until('TIMER_FIRED', 3);
      await stage.system.startWorkers();
      expect(await run.result()).toEqual([10, 60, 120]);
    });
  });
}
