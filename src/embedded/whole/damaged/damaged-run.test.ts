/** A run that is damaged is set apart and told of, and the others go on. */
import type Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RunRef } from '../../../engine.js';
import { child, complete, ScriptedWorker, step, timer } from '../../scripted-worker.fixture.js';
import { edit, engine, folder, logs, start, worker } from './damaged-folder.fixture.js';

describe('a damaged run', () => {
  let sound: RunRef;
  let damaged: RunRef;

  beforeEach(async () => {
    sound = await start('sound');
    await worker.turn(step(1));
    await worker.next('step');
    damaged = await start('damaged');
    const task = await worker.next('turn');
    worker.completeTurn(task, [step(1), timer(1, 10)]);
    await worker.next('step');
    const signalled = engine.signal(damaged, 'a', ['"text"']);
    await worker.next('turn');
    await signalled;
    await engine.signal(damaged, 'b', ['"text"']);
    await engine.close();
  });

  const history = (where: string) =>
    `run_key = (SELECT key FROM runs WHERE workflow_id = 'damaged') ${where}`;

  /** How many runs the list still has: it leaves out those of which it would tell what was never written. */
  it.each<[string, (db: Database.Database) => void, listed?: number]>([
    [
      'a character of an event',
      (db) => db.exec(`UPDATE history SET events = replace(events, '"flow"', '"flew"') WHERE ${history('')}`),
    ],
    [
      'events that are no JSON',
      (db) => db.exec(`UPDATE history SET events = substr(events, 2) WHERE ${history('')}`),
    ],
    [
      'events that went to another place',
      (db) => db.exec(`UPDATE history SET last_event_id = last_event_id + 100 WHERE ${history('')}`),
    ],
    [
      'a piece that is missing',
      (db) =>
        db.exec(
          `DELETE FROM history WHERE rowid = (SELECT rowid FROM history WHERE ${history('ORDER BY last_event_id LIMIT 1 OFFSET 1')})`,
        ),
    ],
    ['no history', (db) => db.exec(`DELETE FROM history WHERE ${history('')}`)],
    ['what waits in its inbox', (db) => db.exec(`UPDATE inbox SET events = replace(events, 'text', 'test')`)],
    [
      'a status that its history does not have',
      (db) => db.exec(`UPDATE runs SET status = 'completed', closed_at = 1 WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a time that is another',
      (db) => db.exec(`UPDATE runs SET started_at = started_at + 1024 WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a workflow of another name',
      (db) => db.exec(`UPDATE runs SET workflow_type = 'flew' WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a trace that was never recorded',
      (db) => db.exec(`UPDATE runs SET trace = '{}' WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a delivery of a step that it does not have',
      (db) => db.exec(`INSERT INTO steps SELECT key, 77, '{}', 0 FROM runs WHERE workflow_id = 'damaged'`),
    ],
  ])('is set apart for %s, and the others go on', async (_what, damage, listed = 2) => {
    edit(folder, damage);
    const { log, lines } = logs();
    const again = folder.open({ log });
    const next = new ScriptedWorker(again);
    const refused = { name: 'DataCorruptionError', details: { workflowId: 'damaged', runId: damaged.runId } };
    for (const selector of [damaged, { workflowId: 'damaged' }]) {
      await expect(again.history(selector, { afterEventId: 0, limit: 10 })).rejects.toMatchObject(refused);
      await expect(again.describe(selector)).rejects.toMatchObject(refused);
      await expect(again.outcome(selector, { waitMs: 1_000 })).rejects.toMatchObject(refused);
      await expect(again.signal(selector, 'b', [])).rejects.toMatchObject(refused);
      await expect(again.query(selector, 'q', [])).rejects.toMatchObject(refused);
      await expect(again.update(selector, 'u', [])).rejects.toMatchObject(refused);
      await expect(again.cancel(selector)).rejects.toMatchObject(refused);
      await expect(again.terminate(selector, 'r')).rejects.toMatchObject(refused);
      await expect(again.reset(selector, { stepName: 'work' })).rejects.toMatchObject(refused);
    }
    await expect(start('damaged', again)).rejects.toMatchObject({ name: 'WorkflowAlreadyExistsError' });
    next.completeStep(await next.next('step'));
    await next.turn(complete());
    expect(await again.outcome(sound, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
    expect(again.load().runsDamaged).toBe(1);
    expect(lines.filter(([level]) => level === 'error')).toEqual([
      [
        'error',
        expect.stringContaining('set apart'),
        expect.objectContaining({ workflowId: 'damaged', runId: damaged.runId }),
      ],
    ]);
    expect((await again.list({}, { limit: 10 })).runs).toHaveLength(listed);
  });

  it('goes on after a start with what was damaged restored', async () => {
    edit(folder, (db) => db.exec(`UPDATE inbox SET events = replace(events, 'text', 'test')`));
    const again = folder.open();
    await expect(again.describe(damaged)).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await again.ready();
    await again.close();
    edit(folder, (db) => {
      expect(db.prepare('SELECT count(*) FROM runs WHERE damaged IS NOT NULL').pluck().get()).toBe(1);
      db.exec(`UPDATE inbox SET events = replace(events, 'test', 'text')`);
    });
    const restored = folder.open();
    expect((await restored.describe(damaged)).status).toBe('running');
    expect(restored.load().runsDamaged).toBe(0);
  });
});

describe('a run that was damaged while a child of it closed', () => {
  it('hears of that after a start with what was damaged restored', async () => {
    const parent = await start('parent');
    await worker.turn(child(1, 'kid'));
    for (let turns = 0; turns < 2; turns++) await worker.turn();
    await engine.signal({ workflowId: 'kid' }, 'end', []);
    await engine.close();
    const swap = (from: string, to: string) =>
      edit(folder, (db) =>
        db.exec(
          `UPDATE history SET events = replace(events, '"${from}"', '"${to}"') WHERE run_key = (SELECT key FROM runs WHERE workflow_id = 'parent')`,
        ),
      );
    swap('flow', 'flew');
    const again = folder.open();
    await new ScriptedWorker(again).turn(complete());
    expect(await again.outcome({ workflowId: 'kid' }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
    });
    await expect(again.describe(parent)).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await again.close();
    swap('flew', 'flow');
    const { events } = await new ScriptedWorker(folder.open()).next('turn');
    expect(events.map(({ type }) => type)).toContain('CHILD_WORKFLOW_EXECUTION_COMPLETED');
  });
});
