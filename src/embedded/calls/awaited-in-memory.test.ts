/** Runs that a caller waits for do not leave the memory. */
import { describe, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import { complete, ScriptedWorker, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

describe('a run that somebody waits for stays in memory', () => {
  const open = () => {
    const engine = folder.open({ limits: { cachedRuns: 0 } });
    return { engine, worker: new ScriptedWorker(engine) };
  };
  /** What is quiet leaves the memory with the commits of others. */
  const passBy = async (engine: EmbeddedEngine, workflowId: string) =>
    engine.recordTrace(await start(engine, workflowId), {});

  it('until the handler of an update has answered', async () => {
    const { engine, worker } = open();
    const run = await start(engine, 'a');
    await worker.turn();
    let told: unknown;
    void engine.update(run, 'slow', []).then((result) => {
      told = result;
    });
    const task = await worker.next('turn');
    const { updateId } = task.updates[0]!;
    worker.completeTurn(task, [{ kind: 'acceptUpdate', updateId }, timer(1, 60_000)]);
    await passBy(engine, 'b');
    await worker.turn(complete());
    await engine.signal(run, 'go', []);
    await worker.turn({ kind: 'completeUpdate', updateId, result: '"answer"' });
    await engine.recordTrace(run, {});
    await new Promise(setImmediate);
    expect(told).toBe('"answer"');
  });

  it('until a worker comes that answers a query', async () => {
    const { engine, worker } = open();
    const run = await start(engine, 'a');
    await worker.turn(timer(1, 60_000));
    await engine.recordTrace(run, {});
    worker.lose();
    const asked = engine.query(run, 'state', []);
    await passBy(engine, 'b');
    const next = new ScriptedWorker(engine);
    const tasks = [await next.next('turn'), await next.next('turn')];
    const task = tasks.find(({ runId }) => runId === run.runId)!;
    const answers = task.queries.map(({ queryId }) => ({ queryId, kind: 'answered' as const, result: '1' }));
    next.completeTurn(task, [], answers);
    expect(await asked).toBe('1');
  });
});
