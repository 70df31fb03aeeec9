/** Runs that are removed after their time, with everything of theirs. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

async function goneOf(engine: EmbeddedEngine, run: RunRef): Promise<void> {
  const until = Date.now() + 10_000;
  while (Date.now() < until) {
    const gone = await engine.describe(run).then(
      () => false,
      (error: Error) => error.name === 'WorkflowNotFoundError',
    );
    if (gone) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`run ${run.runId} was not removed`);
}

describe('retention', () => {
  it('removes closed runs with everything of theirs, and never open ones (RT-01, RT-02)', async () => {
    const engine = folder.open({ limits: { retentionMs: 30, retentionBatch: 2 } });
    const worker = new ScriptedWorker(engine);
    const open = await start(engine, 'open');
    await worker.turn(timer(1, 3_600_000));
    const runs: RunRef[] = [];
    for (let i = 0; i < 5; i++) {
      const request = {
        workflowType: 'flow',
        catalog: CATALOG,
        input: ['1'],
        idempotency: { key: `k${i}`, fingerprint: 'f' },
      };
      runs.push(await engine.start(request));
      await worker.turn(complete());
    }
    for (const run of runs) await goneOf(engine, run);
    expect((await engine.describe(open)).status).toBe('running');
    await engine.close();
    const db = new Database(join(folder.path, 'perdure.db'));
    expect(db.prepare('SELECT count(*) FROM runs').pluck().get()).toBe(1);
    expect(db.prepare('SELECT count(DISTINCT run_key) FROM history').pluck().get()).toBe(1);
    expect(db.prepare('SELECT count(*) FROM idempotency').pluck().get()).toBe(0);
    db.close();
  });
});
