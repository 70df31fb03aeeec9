import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HistoryEvent } from '../../../core/history/event.js';
import { CATALOG, complete, Folder, ScriptedWorker, step } from '../../scripted-worker.fixture.js';
import { encodeEvents } from '../../state/stored-events.js';
import { checkDataFolder } from '../check/check.js';
import { MIGRATIONS } from './schema.js';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const RUN_ID = '01900000-0000-7000-8000-000000000001';

/** A file as the version before left it: a waiting run, and a signal in its inbox that nothing else would wake it for. */
function olderFile(): void {
  const db = new Database(join(folder.path, 'perdure.db'));
  db.pragma('journal_mode = WAL');
  for (const migration of MIGRATIONS.slice(0, 2)) db.exec(migration);
  db.pragma(`application_id = ${0x70657264}`);
  db.pragma('user_version = 2');
  const at = 1_700_000_000_000;
  const events: HistoryEvent[] = [
    {
      id: 1,
      at,
      type: 'WORKFLOW_EXECUTION_STARTED',
      attributes: {
        workflowType: 'flow',
        workflowId: 'old',
        catalog: CATALOG,
        input: [],
        attempt: 1,
        firstExecutionRunId: RUN_ID,
        originalExecutionRunId: RUN_ID,
      },
    },
    { id: 2, at, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } },
    { id: 3, at, type: 'WORKFLOW_TASK_STARTED', attributes: { scheduledEventId: 2 } },
    { id: 4, at, type: 'WORKFLOW_TASK_COMPLETED', attributes: { scheduledEventId: 2, startedEventId: 3 } },
  ];
  db.prepare(
    `INSERT INTO runs (key, run_id, workflow_id, workflow_type, catalog, status, started_at, first_run_id, is_active)
     VALUES (1, ?, 'old', 'flow', ?, 'running', ?, ?, 0)`,
  ).run(RUN_ID, CATALOG, at, RUN_ID);
  for (const { lastEventId, text } of encodeEvents(events)) {
    db.prepare('INSERT INTO history (run_key, last_event_id, events) VALUES (1, ?, ?)').run(
      lastEventId,
      text,
    );
  }
  const signal = [{ type: 'WORKFLOW_EXECUTION_SIGNALED', attributes: { signalName: 'kept', input: [] } }];
  db.prepare('INSERT INTO inbox (run_key, seq, events) VALUES (1, 0, ?)').run(JSON.stringify(signal));
  db.close();
}

it('takes over the file of the version before, and what waited in its inboxes', async () => {
  olderFile();
  const engine = folder.open();
  const worker = new ScriptedWorker(engine);
  const task = await worker.turn(complete());
  expect(task.events.map((event) => event.type).slice(4)).toEqual([
    'WORKFLOW_EXECUTION_SIGNALED',
    'WORKFLOW_TASK_SCHEDULED',
  ]);
  expect(await engine.outcome({ workflowId: 'old' }, { waitMs: 5_000 })).toMatchObject({
    status: 'completed',
  });
});

it('gives the rows of the version before the checksums that they had not', async () => {
  const before = folder.open();
  const worker = new ScriptedWorker(before);
  const request = { workflowType: 'flow', catalog: CATALOG, input: [] };
  const idempotency = { key: 'k', fingerprint: 'f' };
  const closed = await before.start({ ...request, idempotency, budget: { amount: '1', currency: 'EUR' } });
  await worker.turn(complete());
  await before.recordTrace(closed, { local: '/traces/one' });
  const open = await before.start({ ...request, workflowId: 'open' });
  await worker.turn(step(1));
  await worker.next('step');
  await before.close();

  const db = new Database(join(folder.path, 'perdure.db'));
  const withChecksum = ['runs', 'steps', 'idempotency', 'catalogs', 'secrets', 'purses', 'tip'];
  for (const table of withChecksum) db.exec(`ALTER TABLE ${table} DROP COLUMN checksum`);
  db.exec('ALTER TABLE runs DROP COLUMN trace_checksum');
  db.exec('DROP TABLE closings');
  db.exec('DROP TABLE outbox');
  db.pragma('user_version = 6');
  db.close();

  const after = folder.open();
  expect(await after.start({ ...request, idempotency })).toEqual(closed);
  expect(await after.outcome(closed, {})).toMatchObject({
    status: 'completed',
    trace: { local: '/traces/one' },
  });
  expect((await after.describe(open)).status).toBe('running');
  expect((await after.list({}, { limit: 10 })).runs).toHaveLength(2);
  expect(after.load().runsDamaged).toBe(0);
  await after.close();
  expect(checkDataFolder(folder.path).problems).toEqual([]);
});

it('takes over a file of before anything could be on its way from one run to others', async () => {
  const before = folder.open();
  const open = await before.start({ workflowType: 'flow', workflowId: 'open', catalog: CATALOG, input: [] });
  await before.close();
  const db = new Database(join(folder.path, 'perdure.db'));
  db.exec('DROP TABLE outbox');
  db.pragma('user_version = 7');
  db.close();

  const after = folder.open();
  await new ScriptedWorker(after).turn(complete());
  expect(await after.outcome(open, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
  await after.close();
  expect(checkDataFolder(folder.path).problems).toEqual([]);
});
