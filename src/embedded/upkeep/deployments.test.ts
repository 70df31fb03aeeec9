/** Many runs that are held back, and code that fits them: all go on, a few at a commit. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CATALOG, complete, Folder, HandClock, ScriptedWorker } from '../scripted-worker.fixture.js';

const RUNS = 120;
/** What is tried before other work gets its turn. */
const MOST = 50;

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

it('tries all of them, and holds nobody up', { timeout: 60_000 }, async () => {
  let commits: number[] = [];
  const engine = folder.open({
    inspectCommit: (_, runs) => commits.push(runs.size),
    // None of them is due to be tried again, however long this takes.
    clock: new HandClock(),
    limits: { cachedRuns: 3 },
  });
  const old = new ScriptedWorker(engine, { codeId: 'old' });
  const refs = [];
  for (let index = 0; index < RUNS; index++) {
    refs.push(
      await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: `run-${index}` }),
    );
    await old.misfit();
  }
  engine.flush();
  expect(engine.load().runsHeldBack).toBe(RUNS);
  commits = [];
  const fitting = new ScriptedWorker(engine, { codeId: 'fitting', turns: RUNS });
  const tried = [];
  for (let index = 0; index < RUNS; index++) tried.push(await fitting.next('turn'));
  engine.flush();
  expect(Math.max(...commits)).toBeLessThanOrEqual(MOST);
  for (const task of tried) fitting.completeTurn(task, [complete()]);
  for (const ref of refs) expect((await engine.outcome(ref, { waitMs: 30_000 }))?.status).toBe('completed');
});
