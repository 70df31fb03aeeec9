/** Queries that code does not fit: what the engine knows afterwards of who has the run. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, ScriptedWorker, timer } from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open({ limits: { cachedRuns: 0 } });
});
afterEach(() => folder.remove());

const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });

it('so many are asked in one message as its answers have room for, and the others after it', async () => {
  const worker = new ScriptedWorker(engine);
  const run = await start('a');
  await worker.turn(timer(1, 60_000));
  worker.lose();
  const asked = Array.from({ length: 17 }, () => engine.query(run, 'q', []));
  const next = new ScriptedWorker(engine);
  const counts: number[] = [];
  for (let left = 17; left > 0; left -= counts.at(-1)!) {
    const task = await next.next('turn');
    counts.push(task.queries.length);
    const answers = task.queries.map(({ queryId }) => ({ queryId, kind: 'answered' as const, result: '1' }));
    next.completeTurn(task, [], answers);
  }
  expect(counts).toEqual([16, 1]);
  expect(await Promise.all(asked)).toEqual(asked.map(() => '1'));
});

it('a worker whose code did not fit a run gets all of it when it is asked again', async () => {
  const worker = new ScriptedWorker(engine);
  const run = await start('a');
  await worker.turn(complete());
  await engine.outcome(run, { waitMs: 5_000 });
  for (let times = 0; times < 2; times++) {
    const refused = engine.query(run, 'q', []).catch((error: Error) => error.name);
    const { events, historyLength } = await worker.misfit();
    expect(events).toHaveLength(historyLength);
    expect(await refused).toBe('QueryFailedError');
    // What the worker has built up of the run is of no use to anybody.
    expect(worker.pending('forget')).toMatchObject([{ runId: run.runId }]);
    await worker.next('forget');
    // With the next commit the run leaves the memory, and what is known of the code with it.
    await start(`beside ${times}`);
    await worker.turn(complete());
    engine.flush();
  }
});
