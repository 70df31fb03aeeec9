/** The tables beside the history are projections: rebuilt from the events alone they must be what was stored. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HistoryEvent } from '../core/event.js';
import { CATALOG, complete, Folder, ScriptedWorker, step, timer } from './scripted-worker.fixture.js';
import { applyEvent, initialState, isActive, type RunState, wakeAt } from './state.js';
import { type RunRow, Tables } from './tables.js';

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
  for (const row of rows) {
    const state = fold(row.run_id, tables.readEvents(row.key, 0));
    expect(row).toMatchObject({
      workflow_id: state.workflowId,
      workflow_type: state.started.workflowType,
      catalog: state.started.catalog,
      status: state.status,
      closed_at: state.closedAt,
      first_run_id: state.started.firstExecutionRunId,
    });
    // What is under way follows from the history and the delivery of its steps.
    const { state: delivered } = tables.loadRun(row);
    expect(row.is_active).toBe(isActive(delivered) ? 1 : 0);
    const due = wakeAt(delivered);
    if (due === undefined) expect(row.wake_at).toBeNull();
    else expect(row.wake_at).toBeLessThanOrEqual(due);
  }
  const stepRows = db.prepare('SELECT run_key AS k, scheduled_event_id AS id FROM steps').all() as {
    k: number;
    id: number;
  }[];
  for (const { k, id } of stepRows) {
    const row = rows.find((each) => each.key === k)!;
    expect(fold(row.run_id, tables.readEvents(k, 0)).steps.has(id)).toBe(true);
  }
  expect(
    db.prepare('SELECT count(*) FROM history WHERE run_key NOT IN (SELECT key FROM runs)').pluck().get(),
  ).toBe(0);
  db.close();
});

it('numbers the events of every run densely and in the order of time (I3)', async () => {
  await livelyHistory();
  const db = new Database(join(folder.path, 'perdure.db'));
  const tables = new Tables(db);
  for (const key of db.prepare('SELECT key FROM runs').pluck().all() as number[]) {
    const events = tables.readEvents(key, 0);
    expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index + 1));
    const times = events.map((event) => event.at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  }
  db.close();
});

function fold(runId: string, events: HistoryEvent[]): RunState {
  const state = initialState(runId, events[0]!);
  for (const event of events.slice(1)) applyEvent(state, event);
  return state;
}

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
