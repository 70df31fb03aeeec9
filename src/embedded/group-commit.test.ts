import { afterEach, beforeEach, expect, it } from 'vitest';
import { EmbeddedEngine } from './index.js';
import { CATALOG, Folder, HandClock, ScriptedWorker, step } from './scripted-worker.fixture.js';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const request = { workflowType: 'flow', catalog: CATALOG, input: ['1'] };

it('hands out no step before the commit that schedules it', async () => {
  const engine = folder.open();
  const worker = new ScriptedWorker(engine);
  await engine.start(request);
  const task = await worker.next('turn');
  worker.completeTurn(task, [step(1)]);
  // The commit comes with the next round of the event loop; until then the step stays here.
  await Promise.resolve();
  expect(worker.pending('step')).toEqual([]);
  await worker.next('step');
  const { events } = await engine.history(task, { afterEventId: 0, limit: 10 });
  expect(events.map((event) => event.type)).toContain('ACTIVITY_TASK_SCHEDULED');
});

it('acknowledges nothing after a commit that failed, and says so (I19)', async () => {
  let fatal: Error | undefined;
  const engine = EmbeddedEngine.open({
    dataDir: folder.path,
    // A time that the column cannot hold makes the transaction fail where a full disk would.
    clock: new HandClock(1_800_000_000_000.5),
    onFatal: (error) => {
      fatal = error;
    },
  });
  await expect(engine.start(request)).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  expect(fatal).toBeDefined();
  await expect(engine.ready()).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  await expect(engine.start(request)).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  await engine.close();
  const again = folder.open();
  expect((await again.list({}, { limit: 10 })).runs).toEqual([]);
});

it('tells nobody of a run that is not on disk, also when its start is awaited and the wait is short', async () => {
  const engine = folder.open();
  const run = await engine.start({ ...request, isAwaited: true });
  expect(await engine.outcome(run, { waitMs: 1 })).toBeUndefined();
  expect(await engine.describe(run)).toMatchObject({ status: 'running' });
});
