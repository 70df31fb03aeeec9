import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deployment, type Run, type Stage } from '../stage.js';

/** A case waits for several workers to be lost and replaced. */
const TIMES = { timeout: 150_000 };

/** What user code does to its worker stays with that worker; runs go on, and other runs are not concerned. */
export function isolationCases(stage: Stage): void {
  /** A run that is under way in the worker that is about to suffer. */
  async function startNeighbour(): Promise<{ run: Run; key: string }> {
    const place = stage.place('neighbour');
    const run = await stage.start('callsNeighbour', place);
    await stage.ledger.until(place.key, 'started');
    return { run, key: place.key };
  }

  async function neighbourFinishes({ run, key }: { run: Run; key: string }): Promise<void> {
    stage.ledger.release(key);
    expect(await run.result()).toBe('undisturbed');
    expect((await run.eventTypes()).filter((type) => type === 'ACTIVITY_TASK_COMPLETED')).toHaveLength(1);
  }

  // Workers that keep dying are replaced ever more slowly; each case begins with that forgotten.
  beforeEach(() => stage.system.redeploy(deployment('hostile')));

  /** What a case leaves running must not disturb the next. */
  afterEach(async () => {
    const { runs } = await stage.engine.list({ status: 'running' }, { limit: 100 });
    for (const { workflowId } of runs) await stage.engine.terminate({ workflowId }, 'the case is over');
  });

  describe('steps that misbehave', TIMES, () => {
    test.each(['exit', 'exitCleanly', 'sigkill', 'memory'])(
      '%s ends the worker, not the run (F21, F23)',
      async (kind) => {
        const neighbour = await startNeighbour();
        const place = stage.place();
        const run = await stage.start('callsMisbehaving', { ...place, kind });
        expect(await run.result()).toEqual({ before: 'quiet', worst: `survived ${kind}` });
        const worst = stage.ledger.entries(place.key).filter((entry) => entry.step === 'misbehave');
        expect(worst.map((entry) => entry.attempt)).toEqual([1, 2]);
        expect(new Set(worst.map((entry) => entry.pid)).size).toBe(2);
        expect(new Set(worst.map((entry) => entry.idempotencyKey)).size).toBe(1);
        expect(stage.ledger.entries(place.key).filter((entry) => entry.step === 'quiet')).toHaveLength(1);
        await neighbourFinishes(neighbour);
      },
    );

    test('an error after the step has returned does not change its result (F24)', async () => {
      const neighbour = await startNeighbour();
      const run = await stage.start('callsMisbehaving', { ...stage.place(), kind: 'stray' });
      expect(await run.result()).toEqual({ before: 'quiet', worst: 'returned before the stray error' });
      await neighbourFinishes(neighbour);
    });

    test('a step that loops loses its time, and its worker is replaced (F19)', async () => {
      const neighbour = await startNeighbour();
      const place = stage.place();
      const run = await stage.start('callsLooping', place);
      expect(await run.result()).toBe('got out of the loop');
      expect(stage.ledger.entries(place.key)).toHaveLength(2);
      await neighbourFinishes(neighbour);
    });
  });

  describe('turns that misbehave (WT-12)', TIMES, () => {
    test('a turn that never ends is given up, while other runs go on', async () => {
      const endless = await stage.start('endlessTurn');
      await endless.until('WORKFLOW_TASK_COMPLETED');
      const neighbour = await startNeighbour();
      await endless.signal('poison');
      const place = stage.place();
      const others = await Promise.all([stage.start('quietOnes', place), stage.start('quietOnes', place)]);
      for (const other of others) expect(await other.result()).toEqual(['quiet', 'quiet', 'quiet']);
      expect((await endless.describe()).status).toBe('running');
      await endless.terminate();
      await neighbourFinishes(neighbour);
    });

    test.each(['endlessMicrotasks', 'greedyTurn'])('%s does not stop other runs', async (type) => {
      const bad = await stage.start(type);
      const place = stage.place();
      const other = await stage.start('quietOnes', place);
      expect(await other.result()).toEqual(['quiet', 'quiet', 'quiet']);
      expect(await other.eventsOf('ACTIVITY_TASK_COMPLETED')).toHaveLength(3);
      await bad.terminate();
      expect((await bad.outcome()).status).toBe('terminated');
    });
  });

  describe('messages that misbehave', TIMES, () => {
    test.each([
      ['a query whose handler', 'query'],
      ['an update whose validator', 'update'],
    ] as const)('%s never ends is refused, while its run and others go on', async (_, kind) => {
      const run = await stage.start('endlessHandlers');
      await run.until('WORKFLOW_TASK_COMPLETED');
      const refused = expect(run[kind]('loop')).rejects.toThrow();
      const other = await stage.start('quietOnes', stage.place());
      expect(await other.result()).toEqual(['quiet', 'quiet', 'quiet']);
      await refused;
      await run.signal('end');
      expect(await run.result()).toBe('well');
    });
  });

  describe('a worker that is frozen', TIMES, () => {
    test('is replaced, and its runs go on', async () => {
      const place = stage.place();
      const run = await stage.start('callsNeighbour', place);
      await stage.ledger.until(place.key, 'started');
      const frozen = stage.system.workerPids();
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
      const others = await Promise.all([stage.start('quietOnes', place), stage.start('quietOnes', place)]);
      for (const other of others) expect(await other.result()).toEqual(['quiet', 'quiet', 'quiet']);
      expect(stage.system.workerPids().filter((pid) => frozen.includes(pid))).toEqual([]);
      stage.ledger.release(place.key);
      expect(await run.result()).toBe('undisturbed');
    });
  });

  describe('a worker that is killed', TIMES, () => {
    test('in the middle of a step: the step is tried again, completed ones are not (AC-23, AC-24, WT-22)', async () => {
      const place = stage.place();
      const run = await stage.start('updatedByStep', place);
      const update = run.update('ask');
      await stage.ledger.until(place.key, 'started');
      for (const pid of stage.system.workerPids()) process.kill(pid, 'SIGKILL');
      const started = await stage.ledger.until(place.key, 'started', 2);
      expect(started.map((entry) => entry.attempt)).toEqual([1, 2]);
      stage.ledger.release(place.key);
      expect(await update).toBe('undisturbed');
      expect(await run.result()).toBe('undisturbed');
      expect(stage.ledger.entries(place.key, 'ran')).toHaveLength(1);
      expect((await run.eventTypes()).filter((type) => type.startsWith('WORKFLOW_EXECUTION_UPDATE'))).toEqual(
        ['WORKFLOW_EXECUTION_UPDATE_ACCEPTED', 'WORKFLOW_EXECUTION_UPDATE_COMPLETED'],
      );
    });

    test('is replaced, and many runs under way all finish', async () => {
      const place = stage.place();
      const runs = await Promise.all(Array.from({ length: 30 }, () => stage.start('quietOnes', place)));
      for (const pid of stage.system.workerPids()) process.kill(pid, 'SIGKILL');
      for (const run of runs) expect(await run.result()).toEqual(['quiet', 'quiet', 'quiet']);
      for (const run of runs) expect(await run.eventsOf('ACTIVITY_TASK_COMPLETED')).toHaveLength(3);
    });
  });
}
