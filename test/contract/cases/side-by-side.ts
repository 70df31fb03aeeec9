import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deployment, type Stage } from '../stage.js';

/** Workers of several versions serve one catalog, as they do while a deployment rolls. */
export function sideBySideCases(stage: Stage): void {
  // Processes are started and stopped several times in each, which takes long on a busy machine.
  describe('workers of several versions side by side', { timeout: 120_000 }, () => {
    let guests: (() => Promise<void>)[] = [];
    const join = async (name: Parameters<typeof deployment>[0]) => {
      const leave = await stage.system.join(deployment(name));
      guests.push(leave);
      return leave;
    };

    beforeEach(() => stage.system.redeploy(deployment('first')));
    afterEach(async () => {
      for (const leave of guests) await leave();
      guests = [];
    });
    afterAll(() => stage.system.redeploy(deployment('first')));

    const ran = (key: string) => stage.ledger.entries(key, 'ran').map((entry) => entry.value);
    const names = async () => {
      const catalog = await stage.engine.catalog(stage.system.catalog);
      return catalog!.workflows.map(({ entry }) => entry.name).sort();
    };

    test('a workflow that only the new code has goes to the new code alone', async () => {
      await join('newcomer');
      const places = Array.from({ length: 6 }, () => stage.place());
      const runs = await Promise.all(places.map((place) => stage.start('unheardOf', place)));
      for (const run of runs) expect(await run.result()).toBe('once');
      for (const { key } of places) expect(ran(key)).toEqual(['once']);
    });

    test('a step that only the new code has, and that has one attempt, fails no run', async () => {
      await join('newcomer');
      const places = Array.from({ length: 6 }, () => stage.place());
      const runs = await Promise.all(places.map((place) => stage.start('changing', place)));
      await Promise.all(runs.map((run) => run.signal('finish')));
      for (const run of runs) expect(await run.result()).toMatchObject({ way: expect.any(String) });
      for (const { key } of places) expect(ran(key)).toHaveLength(1);
    });

    test('a step whose input has changed goes to the code that asked for it, and fails no run', async () => {
      await join('newcomer');
      const places = Array.from({ length: 12 }, () => stage.place());
      const runs = await Promise.all(places.map((place) => stage.start('weighing', place)));
      const results = await Promise.all(runs.map((run) => run.result()));
      for (const result of results) {
        const { version } = result as { version: string };
        expect(result).toEqual({ version, by: Array(5).fill(version) });
      }
      for (const { key } of places) expect(ran(key)).toHaveLength(5);
      const versions = new Set(results.map((result) => (result as { version: string }).version));
      expect([...versions].sort()).toEqual(['first', 'newcomer']);
    });

    test('a run whose history does not fit the new code goes on with the old while that is connected', async () => {
      const place = stage.place();
      const run = await stage.start('careless', place);
      await run.until('ACTIVITY_TASK_COMPLETED');
      await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
      await join('second');
      // Nobody has it in a cache any more.
      await stage.system.redeploy(deployment('first'));
      await run.signal('finish');
      expect(await run.result()).toEqual({ version: 'first', way: 'old' });
      expect(ran(place.key)).toEqual(['old']);
      expect((await run.describe()).heldBack).toBeUndefined();
    });

    test('a query is answered by code that fits the run, whether that is open or closed', async () => {
      const [open, closed] = [
        await stage.start('careless', stage.place()),
        await stage.start('careless', stage.place()),
      ];
      for (const run of [open, closed]) {
        await run.until('ACTIVITY_TASK_COMPLETED');
        await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
      }
      await closed.signal('finish');
      await closed.result();
      await join('second');
      // Nobody has them in a cache any more.
      await stage.system.redeploy(deployment('first'));
      // Often enough that some come to the wrong worker first, where a cluster decides to whom they go.
      for (let i = 0; i < 8; i++)
        expect([await open.query('signals'), await closed.query('signals')]).toEqual([0, 1]);
    });

    test('a run that is held back is found by that, and goes on when fitting code connects beside the other', async () => {
      const run = await stage.start('careless', stage.place());
      await run.until('ACTIVITY_TASK_COMPLETED');
      await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
      await stage.system.redeploy(deployment('second'));
      await run.signal('finish');
      await run.until('WORKFLOW_TASK_FAILED');
      const heldBack = async () => {
        const { runs } = await stage.engine.list({ heldBack: true }, { limit: 100 });
        return runs.filter(({ runId }) => runId === run.runId);
      };
      await expect.poll(heldBack, { timeout: stage.waitMs }).toEqual([
        expect.objectContaining({
          status: 'running',
          heldBack: { reason: expect.any(String), since: expect.any(Number) },
        }),
      ]);
      await join('first');
      expect(await run.result()).toEqual({ version: 'first', way: 'old' });
      expect(await heldBack()).toEqual([]);
    });

    test('the catalog is what all of them have, whichever of them starts anew, and that of those who stay', async () => {
      const leave = await join('newcomer');
      const all = ['careless', 'changing', 'repairs', 'unheardOf', 'weighing', 'withdrawn'];
      await expect.poll(names, { timeout: stage.waitMs }).toEqual(all);
      await stage.system.redeploy(deployment('first'));
      await expect.poll(names, { timeout: stage.waitMs }).toEqual(all);
      const catalog = await stage.engine.catalog(stage.system.catalog);
      const versions = new Map(catalog!.workflows.map(({ entry, version }) => [entry.name, version?.id]));
      // The newer code has it too, and the older one has not become newer by its restart.
      expect(versions.get('changing')).toBe(versions.get('unheardOf'));
      expect(versions.get('careless')).not.toBe(versions.get('unheardOf'));
      await leave();
      await expect.poll(names, { timeout: stage.waitMs }).toEqual(all.filter((name) => name !== 'unheardOf'));
    });

    test('a run takes the signals that any of the code declares which may make its turns', async () => {
      await join('newcomer');
      await expect.poll(names, { timeout: stage.waitMs }).toContain('unheardOf');
      const run = await stage.start('changing', stage.place());
      for (const name of ['hurry', 'dawdle']) await run.signal(name);
      await expect(run.signal('stumble')).rejects.toMatchObject({ name: 'HandlerNotFoundError' });
      await run.signal('finish');
      await run.result();
    });

    test('each worker is listed with its code, and a run says which code made its last turn', async () => {
      await join('newcomer');
      const run = await stage.start('changing', stage.place());
      await run.signal('finish');
      await run.result();
      const { version } = await run.describe();
      const workers = await stage.engine.workers();
      const here = workers.filter(({ catalog }) => catalog === stage.system.catalog);
      const versions = new Set(here.map((worker) => worker.version?.id));
      expect(versions.size).toBeGreaterThanOrEqual(2);
      expect(versions).toContain(version!.id);
      for (const { pid, host, lastSeenAt } of here) {
        expect([pid, host]).toEqual([expect.any(Number), expect.any(String)]);
        expect(lastSeenAt).toBeGreaterThan(0);
      }
    });
  });
}
