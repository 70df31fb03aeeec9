import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CATALOG, Folder, ScriptedWorker, step } from '../scripted-worker.fixture.js';
import { Tables } from './tables/tables.js';

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

it('acknowledges nothing after a commit whose outcome is unknown, and says so (I19)', async () => {
  let fatal: Error | undefined;
  const engine = folder.open({
    onFatal: (error) => {
      fatal = error;
    },
  });
  const failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
  const failing = vi.spyOn(Tables.prototype, 'saveRun').mockImplementation(() => {
    throw failure;
  });
  await expect(engine.start(request)).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  failing.mockRestore();
  expect(fatal).toBe(failure);
  await expect(engine.ready()).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  await expect(engine.start(request)).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  await engine.close();
  const again = folder.open();
  expect((await again.list({}, { limit: 10 })).runs).toEqual([]);
});

it('writes at an orderly end what was kept back: a step that has completed does not run again', async () => {
  const engine = folder.open();
  const worker = new ScriptedWorker(engine);
  await engine.start(request);
  await worker.turn(step(1));
  worker.completeStep(await worker.next('step'), '"paid"');
  await engine.close();
  const next = new ScriptedWorker(folder.open());
  const { events } = await next.next('turn');
  expect(events.map(({ type }) => type)).toContain('ACTIVITY_TASK_COMPLETED');
  expect(next.pending('step')).toEqual([]);
});

it('answers nobody who waits for a run when a commit fails: what is known may not be on disk', async () => {
  const engine = folder.open({ onFatal: () => {} });
  const run = await engine.start(request);
  const waiting = [
    engine.outcome(run, { waitMs: 60_000 }),
    engine.history(run, { afterEventId: 100, limit: 1, waitMs: 60_000 }),
  ].map((answer) => expect(answer).rejects.toMatchObject({ name: 'EngineUnavailableError' }));
  vi.spyOn(Tables.prototype, 'saveRun').mockImplementation(() => {
    throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
  });
  await expect(engine.signal(run, 'any', [])).rejects.toMatchObject({ name: 'EngineUnavailableError' });
  vi.restoreAllMocks();
  await Promise.all(waiting);
});

it('tells nobody of a run that is not on disk, also when its start is awaited and the wait is short', async () => {
  const engine = folder.open();
  const run = await engine.start({ ...request, isAwaited: true });
  expect(await engine.outcome(run, { waitMs: 1 })).toBeUndefined();
  expect(await engine.describe(run)).toMatchObject({ status: 'running' });
});
