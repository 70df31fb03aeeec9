import { describe, expect, test, vi } from 'vitest';
import { type Stage, unique } from '../stage.js';

/** The engine is ended and started again on what it has stored. */
export function durabilityCases(stage: Stage): void {
  describe('over a restart of the engine', () => {
    test('open runs of every kind go on where they were, and closed ones answer as before', async () => {
      const place = stage.place();
      const closed = await stage.start('threeSteps', { ...stage.place(), ending: 'return' });
      await closed.result();
      const closedBefore = JSON.stringify([await closed.outcome(), await closed.history()]);

      const waiting = await stage.start('collects');
      await waiting.signal('add', 'before');
      const sleeping = await stage.start('sleeps', ['1500ms']);
      await sleeping.until('TIMER_STARTED');
      const held = stage.place('held');
      const stepping = await stage.start('racingSteps', held);
      await stepping.until('ACTIVITY_TASK_COMPLETED');
      await stage.ledger.until(held.key, 'started');
      const family = await stage.start('parent', { how: 'wait' });
      const child = await family.until('CHILD_WORKFLOW_EXECUTION_STARTED');
      const chain = await stage.start('sums', { target: 6 });
      for (let value = 1; value <= 4; value++) await chain.signal('add', value);
      const stopped = await stage.start('swallowsCancel');
      await stopped.cancel();
      const idempotency = { key: unique('key'), fingerprint: 'f' };
      const keyed = await stage.start('echo', 'once', { idempotency });

      await stage.system.restartEngine();

      expect(JSON.stringify([await closed.outcome(), await closed.history()])).toBe(closedBefore);
      expect(await waiting.query('seen')).toEqual(['before']);
      await waiting.signal('add', 'after');
      await waiting.signal('finish');
      expect(await waiting.result()).toEqual(['before', 'after']);
      expect(((await sleeping.result()) as number[])[0]).toBeGreaterThanOrEqual(1500);
      expect(await sleeping.eventsOf('TIMER_FIRED')).toHaveLength(1);
      stage.ledger.release(held.key);
      expect(await stepping.result()).toEqual(['fast', `released ${held.key}`]);
      expect(stage.ledger.entries(held.key, 'ran')).toHaveLength(1);
      await (await stage.attach(child.attributes.workflowExecution.workflowId)).terminate();
      expect(await family.result()).toMatchObject({ error: { name: 'ChildWorkflowError' } });
      await chain.signal('add', 5);
      await chain.signal('add', 6);
      expect(await chain.result()).toMatchObject({ sum: 21, count: 6 });
      await stopped.cancel();
      await stopped.signal('goOn');
      await stopped.result();
      expect(await stopped.eventsOf('WORKFLOW_EXECUTION_CANCEL_REQUESTED')).toHaveLength(1);
      expect(await stage.start('echo', 'once', { idempotency })).toMatchObject({ runId: keyed.runId });
      await expect(stage.start('echo', 1, { workflowId: closed.workflowId })).rejects.toMatchObject({
        name: 'WorkflowAlreadyExistsError',
      });
      expect(await stage.run('echo', place.key)).toBe(place.key);
    });

    test('what was spent stays spent when workers and the engine are killed, and a budget holds', async () => {
      const place = stage.place();
      const gate = unique('gate');
      const plan = [
        { slowly: { amount: '1', gate } },
        { spend: [{ amount: '1' }] },
        { spend: [{ amount: '1' }] },
      ];
      const budget = { amount: '3', currency: 'USD' };
      const run = await stage.start('spends', { ...place, plan }, { budget });
      const spent = async () => (await stage.engine.cost(run.pinned, 'run', () => {})).budget?.spent;
      await untilEqual(spent, '1', stage.waitMs);
      for (const pid of stage.system.workerPids()) process.kill(pid, 'SIGKILL');
      await stage.system.restartEngine();
      expect(await spent()).toBe('1');
      // The attempt that was lost has spent for nothing; the next one says it again.
      await untilEqual(spent, '2', 2 * stage.waitMs);
      stage.ledger.release(gate);
      await untilEqual(async () => (await run.describe()).paused?.by, 'budget', stage.waitMs);
      expect(stage.ledger.entries(place.key).filter(({ what }) => what === 'spent')).toHaveLength(3);
      expect(await spent()).toBe('3');
      await stage.system.restartEngine();
      expect((await run.describe()).paused).toMatchObject({ by: 'budget' });
      await stage.engine.setBudget(run.pinned, '10');
      await run.result();
      expect(await spent()).toBe('4');
    });

    test('an attempt that was used up is not given again: retries go on counting', async () => {
      const place = stage.place();
      const run = await stage.start('callFlaky', { ...place, step: 'flakyByDefault', failures: 9 });
      await stage.ledger.until(place.key, 'ran', 2);
      await stage.system.restartEngine();
      await run.result();
      const attempts = stage.ledger.entries(place.key).map((entry) => entry.attempt);
      // Three failures are what the policy allows; an attempt that the restart cut off is not one of them.
      expect(attempts).toEqual([1, 2, 3, 4].slice(0, attempts.length));
      expect([3, 4]).toContain(attempts.length);
    });

    test('the catalog is remembered before any worker is back', async () => {
      await stage.system.stopWorkers();
      await stage.system.restartEngine();
      const catalog = await stage.engine.catalog(stage.system.catalog);
      expect(catalog!.workflows.map((workflow) => workflow.entry.name)).toContain('echo');
      const run = await stage.start('echo', 'accepted');
      await stage.system.startWorkers();
      expect(await run.result()).toBe('accepted');
    });

    test('a list goes on over the restart with its cursor', async () => {
      const workflowIdPrefix = unique('restart');
      for (let index = 0; index < 4; index++) {
        await stage.start('echo', index, { workflowId: `${workflowIdPrefix}-${index}` });
      }
      const first = await stage.engine.list({ workflowIdPrefix }, { limit: 2 });
      await stage.system.restartEngine();
      const second = await stage.engine.list({ workflowIdPrefix }, { limit: 5, cursor: first.nextCursor! });
      expect([...first.runs, ...second.runs].map((run) => run.workflowId)).toEqual(
        [3, 2, 1, 0].map((index) => `${workflowIdPrefix}-${index}`),
      );
    });
  });
}

async function untilEqual(look: () => Promise<unknown>, wanted: unknown, withinMs: number): Promise<void> {
  await vi.waitFor(async () => expect(await look()).toBe(wanted), { timeout: withinMs, interval: 50 });
}
