/** Runs that belong together, when what is stored of one of them is damaged or cannot be written. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { Relations } from '../life/relations.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from '../scripted-worker.fixture.js';
import { Tables } from '../store/tables/tables.js';

let folder: Folder;
let clock: HandClock;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
beforeEach(() => {
  // What is damaged on purpose stays so.
  folder = new Folder(true);
  clock = new HandClock();
  open();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await folder.remove();
});

function open(): void {
  engine = folder.open({ clock });
  worker = new ScriptedWorker(engine);
}

async function reopen(between: (db: Database.Database) => void = () => {}): Promise<void> {
  await engine.close();
  const db = new Database(join(folder.path, 'perdure.db'));
  between(db);
  db.close();
  open();
}

const start = (workflowId: string): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });
const continueAsNew: Command = { kind: 'continueAsNew', workflowType: 'flow', input: [] };
const child = (workflowId: string): Command => ({
  kind: 'startChild',
  childSeq: '1',
  workflowId,
  workflowType: 'flow',
  input: [],
  parentClosePolicy: 'TERMINATE',
});
const damage = (db: Database.Database, runId: string) =>
  db
    .prepare(
      `UPDATE history SET events = replace(events, 'flow', 'flaw') WHERE run_key = (SELECT key FROM runs WHERE run_id = ?)`,
    )
    .run(runId);
const mend = (db: Database.Database, runId: string) =>
  db
    .prepare(
      `UPDATE history SET events = replace(events, 'flaw', 'flow') WHERE run_key = (SELECT key FROM runs WHERE run_id = ?)`,
    )
    .run(runId);

/** The next save of a run that fits fails, as that of a page which makes no sense does. */
function failToSave(fits: (workflowId: string, isNew: boolean) => boolean): void {
  const { saveRun } = Tables.prototype;
  vi.spyOn(Tables.prototype, 'saveRun').mockImplementation(function (this: Tables, run) {
    if (fits(run.state.workflowId, run.isNew)) {
      throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
    }
    return saveRun.call(this, run);
  });
}

describe('what changed together and cannot be written', () => {
  it('is left out together: a run and the one that it continues as', async () => {
    const run = await start('a');
    const task = await worker.next('turn');
    failToSave((workflowId, isNew) => workflowId === 'a' && isNew);
    worker.completeTurn(task, [continueAsNew]);
    const other = await start('b');
    await expect(engine.describe(run)).rejects.toThrow('damaged');
    vi.restoreAllMocks();
    await reopen();
    const again = await worker.next('turn');
    expect([run.runId, other.runId]).toContain(again.runId);
    expect((await engine.describe(run)).status).toBe('running');
  });

  it('is left out together over however many: a child, its parent, and the other child', async () => {
    const parent = await start('a');
    const task = await worker.next('turn');
    failToSave((workflowId) => workflowId === 'one');
    worker.completeTurn(task, [child('one'), { ...child('two'), childSeq: '2' } as Command]);
    await start('b');
    vi.restoreAllMocks();
    await reopen();
    for (const workflowId of ['one', 'two']) {
      await expect(engine.describe({ workflowId })).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
    }
    const { events } = await engine.history(parent, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_TASK_SCHEDULED']);
  });

  it('is left out together: a parent and the child that it starts', async () => {
    const parent = await start('a');
    const task = await worker.next('turn');
    failToSave((workflowId) => workflowId === 'a-child');
    worker.completeTurn(task, [child('a-child')]);
    await start('b');
    vi.restoreAllMocks();
    await reopen();
    expect(
      (await engine.history(parent, { afterEventId: 0, limit: 100 })).events.map(({ type }) => type),
    ).toEqual(['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_TASK_SCHEDULED']);
  });
});

it('what a run answers in a turn that cannot be written is told to nobody', async () => {
  const run = await start('a');
  await worker.turn();
  const refused = [engine.update(run, 'any', []), engine.query(run, 'any', [])].map((answer) =>
    expect(answer).rejects.toMatchObject({ name: 'DataCorruptionError' }),
  );
  const task = await worker.next('turn');
  const commands = task.updates.flatMap(({ updateId }): Command[] => [
    { kind: 'acceptUpdate', updateId },
    { kind: 'completeUpdate', updateId, result: '1' },
  ]);
  failToSave((workflowId) => workflowId === 'a');
  const answers = task.queries.map(({ queryId }) => ({ queryId, kind: 'answered' as const, result: '1' }));
  worker.completeTurn(task, commands, answers);
  await Promise.all(refused);
});

describe('a turn that fails half-way through what it asks for', () => {
  it('leaves nothing behind of the runs that it has begun', async () => {
    const parent = await start('a');
    const task = await worker.next('turn');
    vi.spyOn(Relations.prototype, 'signalExternal').mockImplementation(() => {
      throw new Error('a fault');
    });
    const signal: Command = {
      kind: 'signalExternal',
      signalSeq: '1',
      workflowId: 'b',
      signalName: 's',
      input: [],
    };
    worker.completeTurn(task, [child('a-child'), signal]);
    await start('b');
    await expect(engine.describe(parent)).rejects.toThrow('a fault');
    vi.restoreAllMocks();
    await reopen();
    await expect(engine.describe({ workflowId: 'a-child' })).rejects.toThrow('there is no workflow');
    const { events } = await engine.history(parent, { afterEventId: 0, limit: 100 });
    expect(events).toHaveLength(2);
  });
});

describe('a parent that is set apart', () => {
  it('hears of the children that have closed meanwhile as soon as it is sound again', async () => {
    const parent = await start('a');
    await worker.turn(child('a-child'));
    for (let turns = 0; turns < 2; turns++) await worker.turn();
    await engine.recordTrace(parent, {});
    await reopen((db) => damage(db, parent.runId));
    await expect(engine.signal(parent, 'any', [])).rejects.toThrow('damaged');
    await engine.signal({ workflowId: 'a-child' }, 'end', []);
    await worker.turn(complete('"late"'));
    expect((await engine.outcome({ workflowId: 'a-child' }, { waitMs: 5_000 }))?.status).toBe('completed');
    await reopen((db) => mend(db, parent.runId));
    const turn = await worker.turn(complete());
    expect(turn.events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_COMPLETED');
  });
});

describe('a reset that meets damage', () => {
  it('is refused before anything has changed', async () => {
    const first = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn(continueAsNew);
    const second = await worker.turn(continueAsNew);
    const third = await worker.turn(timer(1, 3_600_000));
    await engine.recordTrace(first, {});
    await reopen((db) => damage(db, second.runId));
    await expect(engine.reset(first, { stepName: 'work' })).rejects.toMatchObject({
      name: 'DataCorruptionError',
    });
    const latest = await engine.describe({ workflowId: 'a' });
    expect(latest).toMatchObject({ runId: third.runId, status: 'running' });
  });

  it('is told so, when it is the latest run that is damaged', async () => {
    const first = await start('a');
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn();
    const second = await engine.reset(first, { stepName: 'work' });
    await reopen((db) => damage(db, second.runId));
    await expect(engine.reset(first, { stepName: 'work' })).rejects.toMatchObject({
      name: 'DataCorruptionError',
    });
  });
});

describe('a run that is set apart before what it has done is on disk', () => {
  it('leaves nothing there of what is written beside it', async () => {
    await engine.close();
    let db!: Database.Database;
    engine = folder.open({
      connect: (file, options) => {
        db = new Database(file, options);
        return db;
      },
      // All that is sent is on its way first, which is a row of its own.
      limits: { messagesSentAtOnce: 0 },
    });
    worker = new ScriptedWorker(engine);
    await start('target');
    await worker.turn();
    const sender = await start('sender');
    const task = await worker.next('turn');
    damage(db, sender.runId);
    worker.completeTurn(task, [
      { kind: 'signalExternal', signalSeq: '1', workflowId: 'target', signalName: 'news', input: [] },
    ]);
    // Whoever reads it finds out, and the turn is still to be committed.
    await expect(engine.history(sender, { afterEventId: 0, limit: 10 })).rejects.toThrow('damaged');
    await start('other');
    expect(db.prepare('SELECT count(*) FROM outbox').pluck().get()).toBe(0);
    const { events } = await engine.history({ workflowId: 'target' }, { afterEventId: 0, limit: 10 });
    expect(events.map(({ type }) => type)).not.toContain('WORKFLOW_EXECUTION_SIGNALED');
  });
});

describe('a run that is set apart', () => {
  it('has not been cancelled for the one that asks for it', async () => {
    const target = await start('target');
    await worker.turn(timer(1, 60_000));
    await reopen((db) => damage(db, target.runId));
    const sender = await start('sender');
    await worker.turn({ kind: 'cancelExternal', cancelSeq: '1', workflowId: 'target' });
    const { events } = await worker.next('turn');
    expect(events.map(({ type }) => type)).toContain('REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED');
    expect((await engine.describe(sender)).status).toBe('running');
    await reopen((db) => mend(db, target.runId));
    const { events: ofTarget } = await engine.history(target, { afterEventId: 0, limit: 10 });
    expect(ofTarget.map(({ type }) => type)).not.toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
  });
});
