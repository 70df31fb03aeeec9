/** Queries that code does not fit: what the engine knows afterwards of who has the run. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, ScriptedWorker } from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open({ limits: { cachedRuns: 0 } });
});
afterEach(() => folder.remove());

const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });

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
