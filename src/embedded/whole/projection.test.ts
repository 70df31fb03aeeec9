/** The tables beside the history are projections: rebuilt from the events alone they must be what was stored. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CATALOG, complete, Folder, ScriptedWorker, step, timer } from '../scripted-worker.fixture.js';
import { problemsOnDisk } from '../store/check/projection-check.js';
import type { RunRow } from '../store/tables/run-row.js';
import { Tables } from '../store/tables/tables.js';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

it('rebuilds every row of the run table from the history (I15)', async () => {
  await livelyHistory();
  const db = new Database(join(folder.path, 'perdure.db'));
  const tables = new Tables(db);
  const rows = db.prepare('SELECT * FROM runs ORDER BY key').all() as RunRow[];
  expect(rows.map((row) => row.status).sort()).toEqual([
    'completed',
    'completed',
    'continued_as_new',
    'failed',
    'running',
    'running',
    'running',
    'terminated',
  ]);
  for (const row of rows) expect(problemsOnDisk(tables, row)).toEqual([]);
  expect(tables.orphans()).toEqual([]);
  db.close();
});

it('numbers the events of every run densely and in the order of time (I3)', async () => {
  await livelyHistory();
  const db = new Database(join(folder.path, 'perdure.db'));
  const tables = new Tables(db);
  for (const key of db.prepare('SELECT key FROM runs').pluck().all() as number[]) {
    const events = tables.history.read(key, 0);
    expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index + 1));
    const times = events.map((event) => event.at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  }
  db.close();
});

/** Runs in every state, made by one engine that is then closed. */
async function livelyHistory(): Promise<void> {
  const engine = folder.open();
  const worker = new ScriptedWorker(engine);
  const begin = (workflowId: string) =>
    engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['{"a":[1,2]}'], workflowId });
  const waitMs = 5_000;

  const done = await begin('done');
  await worker.turn(step(1), step(2));
  worker.completeStep(await worker.next('step'));
  worker.failStep(await worker.next('step'));
  await worker.turn(complete());
  await engine.outcome(done, { waitMs });

  const failed = await begin('failed');
  await worker.turn({ kind: 'failRun', failure: { kind: 'application', type: 'Error', message: 'no' } });
  await engine.outcome(failed, { waitMs });

  await engine.terminate(await begin('ended'), 'enough');

  const chain = await begin('chain');
  for (;;) {
    const task = await worker.next('turn');
    if (task.workflowId !== 'chain') continue;
    worker.completeTurn(task, [{ kind: 'continueAsNew', workflowType: 'flow', input: ['2'] }]);
    break;
  }
  await worker.turn(complete());
  await engine.outcome(chain, { waitMs, followChain: true });

  await begin('retrying');
  await worker.turn(step(1));
  worker.failStep(await worker.next('step'));
  await begin('sleeping');
  await worker.turn(timer(1, 3_600_000));
  await begin('working');
  await worker.turn(step(1));
  await worker.next('step');
  await engine.close();
}
