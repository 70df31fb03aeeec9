/** What retention must not remove, and what it must not leave. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Scheduler, systemScheduler } from '../../core/clock.js';
import type { Command } from '../../core/history/command.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  child,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from '../scripted-worker.fixture.js';
import { SettledTime } from '../store/settled-time.js';
import { RunTable } from '../store/tables/run-table.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('the time that retention goes by', () => {
  it('does not follow a jump forward until it has lasted for an hour', () => {
    const clock = new HandClock();
    const start = clock.now();
    const time = new SettledTime(clock, start);
    clock.ms += HOUR;
    expect(time.now()).toBe(start + HOUR);
    clock.offsetMs = 8 * DAY;
    expect(time.now()).toBe(start + HOUR);
    clock.ms += HOUR / 2;
    expect(time.now()).toBe(start + 1.5 * HOUR);
    clock.offsetMs = 0;
    expect(time.now()).toBe(start + 1.5 * HOUR);
    clock.offsetMs = 8 * DAY;
    expect(time.now()).toBe(start + 1.5 * HOUR);
    clock.ms += HOUR;
    expect(time.now()).toBe(clock.now());
  });

  it('follows a clock that is corrected a little, and one that is set back', () => {
    const clock = new HandClock();
    const time = new SettledTime(clock, clock.now());
    clock.offsetMs = 30_000;
    expect(time.now()).toBe(clock.now());
    clock.offsetMs = -DAY;
    expect(time.now()).toBe(clock.now());
  });

  it('goes on from what was kept, whatever the clock of the machine shows', () => {
    const clock = new HandClock();
    expect(new SettledTime(clock, clock.now() - 9 * DAY).now()).toBe(clock.now() - 9 * DAY);
    expect(new SettledTime(clock, undefined).now()).toBe(clock.now());
  });
});

describe('removal', () => {
  let folder: Folder;
  let engine: EmbeddedEngine;
  let worker: ScriptedWorker;
  beforeEach(() => {
    folder = new Folder();
  });
  afterEach(() => folder.remove());

  const start = (workflowId: string): Promise<RunRef> =>
    engine.start({ workflowType: 'flow', catalog: CATALOG, input: [`"of ${workflowId}"`], workflowId });

  const continueAsNew: Command = { kind: 'continueAsNew', workflowType: 'flow', input: ['"later"'] };

  /** Resolves when all that was decided is on disk, by writing something of no consequence. */
  const onDisk = (run: RunRef): Promise<void> => engine.recordTrace(run, {});

  async function gone(run: RunRef): Promise<boolean> {
    for (let looks = 0; looks < 2_000; looks++) {
      const found = await engine.describe(run).catch((error: Error) => error.name);
      if (found === 'WorkflowNotFoundError') return true;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return false;
  }

  it('leaves a run alone whose time has come only by a clock that was set', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock, limits: { retentionMs: 50 } });
    worker = new ScriptedWorker(engine);
    const run = await start('a');
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    clock.offsetMs = 8 * DAY;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await engine.describe(run)).status).toBe('completed');
    clock.ms += 1_000;
    expect(await gone(run)).toBe(true);
  });

  it('leaves it alone also when the service was started again after the clock was set', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock, limits: { retentionMs: DAY } });
    worker = new ScriptedWorker(engine);
    const run = await start('a');
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    clock.offsetMs = 8 * DAY;
    await start('of a week later, as the clock says');
    await engine.close();
    engine = folder.open({ clock, limits: { retentionMs: 50 } });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await engine.describe(run)).status).toBe('completed');
    clock.ms += 1_000;
    expect(await gone(run)).toBe(true);
  });

  it('of a child that a kept run had started is an end to the run that a reset makes of that one', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock, limits: { retentionMs: 50 } });
    worker = new ScriptedWorker(engine);
    const first = await start('a');
    await worker.turn(step(1), child(1, 'kid', 'ABANDON'));
    const turns = [await worker.next('turn'), await worker.next('turn')];
    const kid = turns.find(({ workflowId }) => workflowId === 'kid')!;
    worker.completeTurn(turns.find(({ workflowId }) => workflowId === 'a')!);
    worker.completeStep(await worker.next('step'));
    await worker.turn(continueAsNew);
    await worker.turn(timer(1, DAY));
    worker.completeTurn(kid, [complete()]);
    await engine.outcome({ workflowId: 'kid' }, { waitMs: 5_000 });
    clock.ms += 1_000;
    expect(await gone({ workflowId: 'kid', runId: kid.runId })).toBe(true);
    await engine.reset(first, { stepName: 'work' });
    const { events } = await worker.turn(complete());
    expect(events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_TERMINATED');
  });

  /** Two runs that have closed, of which the first cannot be removed until what this answers with is called. */
  async function oneOfTwoStays(clock: HandClock): Promise<{ ids: string[]; mend: () => void }> {
    engine = folder.open({ clock, limits: { retentionMs: DAY } });
    worker = new ScriptedWorker(engine);
    const ids: string[] = [];
    for (const workflowId of ['stays', 'goes']) {
      const run = await start(workflowId);
      ids.push(run.runId);
      await worker.turn(complete());
      await engine.outcome(run, { waitMs: 5_000 });
      clock.ms += 1;
    }
    await engine.close();
    const edit = (sql: string) => {
      const db = new Database(join(folder.path, 'perdure.db'));
      db.exec(sql);
      db.close();
    };
    edit(`CREATE TRIGGER stays BEFORE DELETE ON runs WHEN old.run_id = '${ids[0]}'
      BEGIN SELECT RAISE(ABORT, 'it cannot be removed'); END`);
    return { ids, mend: () => edit('DROP TRIGGER stays') };
  }

  it.each([
    ['among others', 100],
    ['alone', 1],
  ])('is not told of a run that cannot be removed, and reaches those behind it: %s', async (_how, batch) => {
    const clock = new HandClock();
    const { ids, mend } = await oneOfTwoStays(clock);
    engine = folder.open({ clock, limits: { retentionMs: 50, retentionBatch: batch } });
    const told: string[] = [];
    engine.watch({ removed: (runId) => told.push(runId) });
    clock.ms += 1_000;
    expect(await gone({ workflowId: 'goes', runId: ids[1]! })).toBe(true);
    expect((await engine.describe({ workflowId: 'stays' })).status).toBe('completed');
    await engine.close();
    expect(told).toEqual([ids[1]]);
    mend();
  });

  it('goes on after a look at what has expired has met damage', async () => {
    const clock = new HandClock();
    const looks = vi.spyOn(RunTable.prototype, 'expired').mockImplementationOnce(() => {
      throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
    });
    // The next look is a minute away, and here a moment.
    const hasty: Scheduler = {
      ...systemScheduler,
      after: (ms, action, isBackground) =>
        systemScheduler.after(ms === 60_000 ? 1 : ms, action, isBackground),
    };
    try {
      engine = folder.open({ clock, scheduler: hasty, limits: { retentionMs: 50 } });
      worker = new ScriptedWorker(engine);
      const run = await start('a');
      await worker.turn(complete());
      await engine.outcome(run, { waitMs: 5_000 });
      await expect.poll(() => looks.mock.results[0]?.type, { interval: 5 }).toBe('throw');
      clock.ms += 1_000;
      expect(await gone(run)).toBe(true);
    } finally {
      looks.mockRestore();
    }
  });

  it('counts from the end of a run, however long ago it was started', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock, limits: { retentionMs: 1_000 } });
    worker = new ScriptedWorker(engine);
    const old = await start('old');
    await worker.turn(timer(1, HOUR));
    clock.pass(10_000);
    const before = await start('before');
    await worker.turn(complete());
    await engine.outcome(before, { waitMs: 5_000 });
    clock.pass(600);
    await engine.signal(old, 'end', []);
    await worker.turn(complete());
    await engine.outcome(old, { waitMs: 5_000 });
    clock.pass(500);
    expect(await gone(before)).toBe(true);
    expect((await engine.describe(old)).status).toBe('completed');
  });

  it('keeps the first run of a chain, and with it the input, for as long as there is a later one', async () => {
    engine = folder.open({ limits: { retentionMs: 30 } });
    worker = new ScriptedWorker(engine);
    const first = await start('chain');
    await worker.turn(continueAsNew);
    const second = await worker.turn(continueAsNew);
    const third = await worker.turn(timer(1, 1_000));
    await onDisk(first);
    expect(await gone({ workflowId: 'chain', runId: second.runId })).toBe(true);
    expect((await engine.describe(first)).input).toBe('"of chain"');
    await worker.turn(complete());
    expect(await gone({ workflowId: 'chain', runId: third.runId })).toBe(true);
    expect(await gone(first)).toBe(true);
  });

  it('takes the first run of a chain with the last: it is never what the id stands for', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock, limits: { retentionMs: 1_000, retentionBatch: 1 } });
    worker = new ScriptedWorker(engine);
    const told: string[] = [];
    const latest: string[] = [];
    const first = await start('chain');
    await worker.turn(continueAsNew);
    const second = await worker.turn(complete());
    await engine.outcome({ workflowId: 'chain' }, { waitMs: 5_000 });
    engine.watch({
      removed: (runId) => {
        told.push(runId);
        engine.describe({ workflowId: 'chain' }).then(
          (run) => latest.push(run.runId),
          (error: Error) => latest.push(error.name),
        );
      },
    });
    clock.pass(2_000);
    expect(await gone(first)).toBe(true);
    expect(told).toEqual([second.runId, first.runId]);
    await expect.poll(() => latest).toEqual(['WorkflowNotFoundError', 'WorkflowNotFoundError']);
  });

  it('frees the id of a run that a refused message had brought into memory', async () => {
    engine = folder.open({ limits: { retentionMs: 100 } });
    worker = new ScriptedWorker(engine);
    const run = await start('a');
    await worker.turn(complete());
    await engine.outcome(run, { waitMs: 5_000 });
    await expect(engine.signal({ workflowId: 'a' }, 'late', [])).rejects.toThrow('is closed');
    expect(await gone(run)).toBe(true);
    const again = await start('a');
    expect(again.runId).not.toBe(run.runId);
  });

  it('does not part a child that continued as new long ago from its parent', async () => {
    engine = folder.open({ limits: { retentionMs: 30 } });
    worker = new ScriptedWorker(engine);
    const parent = await start('parent');
    await worker.turn({
      kind: 'startChild',
      childSeq: '1',
      workflowId: 'child',
      workflowType: 'flow',
      input: [],
      parentClosePolicy: 'TERMINATE',
    });
    const runIds: string[] = [];
    while (runIds.length < 3) {
      const task = await worker.next('turn');
      if (task.workflowId === 'child') runIds.push(task.runId);
      worker.completeTurn(
        task,
        task.workflowId !== 'child' ? [] : [runIds.length < 3 ? continueAsNew : timer(1, HOUR)],
      );
    }
    await onDisk(parent);
    expect(await gone({ workflowId: 'child', runId: runIds[1]! })).toBe(true);
    await engine.terminate(parent, 'enough');
    expect((await engine.outcome({ workflowId: 'child' }, { waitMs: 5_000 }))?.status).toBe('terminated');
  });
});
