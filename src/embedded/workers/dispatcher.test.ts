/** Who gets which task. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Scheduler, systemScheduler } from '../../core/clock.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, ScriptedWorker, step } from '../scripted-worker.fixture.js';

let folder: Folder;
let engine: EmbeddedEngine;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
});
afterEach(() => folder.remove());

/** When this resolves everything before it has been given out and committed. */
const start = (workflowId: string, catalog = CATALOG) =>
  engine.start({ workflowType: 'flow', catalog, input: [], workflowId });

it('a worker gets as many steps as it has slots, and the next one when one is free', async () => {
  const worker = new ScriptedWorker(engine, { steps: 2 });
  const run = await start('a');
  await worker.turn(...[1, 2, 3, 4, 5].map((id) => step(id)));
  await engine.recordTrace(run, {});
  expect(worker.pending('step')).toHaveLength(2);
  for (let left = 3; left > 0; left--) {
    worker.completeStep(await worker.next('step'));
    await engine.recordTrace(run, {});
    expect(worker.pending('step')).toHaveLength(2);
  }
});

it('a worker whose turn is wanted no more gets the next one at once', async () => {
  const worker = new ScriptedWorker(engine, { turns: 1 });
  const run = await start('a');
  await worker.next('turn');
  await start('b');
  expect(worker.pending('turn')).toEqual([]);
  await engine.terminate(run, 'enough');
  expect((await worker.next('turn')).workflowId).toBe('b');
});

it('a worker that answers keeps what it has, however long that takes', async () => {
  let looks = 0;
  const { after } = systemScheduler;
  // Workers are looked after every quarter of a second, and here much more often.
  const hasty: Scheduler = {
    ...systemScheduler,
    after(ms, action, isBackground) {
      if (ms !== 250) return after(ms, action, isBackground);
      looks++;
      return after(1, action, isBackground);
    },
  };
  await engine.close();
  engine = folder.open({ scheduler: hasty });
  const worker = new ScriptedWorker(engine);
  await start('a');
  await worker.turn(step(1));
  const task = await worker.next('step');
  await expect.poll(() => looks, { interval: 5 }).toBeGreaterThan(100);
  worker.completeStep(task);
  const { events } = await worker.turn(complete());
  expect(events.map(({ type }) => type)).toContain('ACTIVITY_TASK_COMPLETED');
  expect(worker.pending('stopStep')).toEqual([]);
});

it('a turn goes to the worker that has least to do', async () => {
  const workers = [new ScriptedWorker(engine), new ScriptedWorker(engine)];
  for (let i = 0; i < 6; i++) await start(`run-${i}`);
  expect(workers.map((worker) => worker.pending('turn').length)).toEqual([3, 3]);
});

it('a turn goes to the worker that has the run cached, although another one has less to do', async () => {
  const [first, second] = [new ScriptedWorker(engine), new ScriptedWorker(engine)];
  const run = await start('a');
  await first.turn();
  await start('b');
  await start('c');
  await engine.signal(run, 'go', []);
  await engine.recordTrace(run, {});
  const ofRun = [first, second].map((worker) =>
    worker.pending('turn').some((task) => task.kind === 'turn' && task.workflowId === 'a'),
  );
  expect(ofRun).toEqual([true, false]);
});

it('a worker that drains gets nothing more, and ends what it has', async () => {
  const [leaving, staying] = [new ScriptedWorker(engine), new ScriptedWorker(engine)];
  await start('a');
  const task = await leaving.next('turn');
  leaving.say({ kind: 'draining' });
  for (let i = 0; i < 4; i++) await start(`run-${i}`);
  expect(leaving.pending('turn')).toEqual([]);
  expect(staying.pending('turn')).toHaveLength(4);
  leaving.completeTurn(task, [complete()]);
  expect((await engine.outcome({ workflowId: 'a' }, { waitMs: 5_000 }))?.status).toBe('completed');
});

it('a step goes to the code whose turn has asked for it, and to other code once that is about to go', async () => {
  const before = new ScriptedWorker(engine, { codeId: 'v1', turns: 0 });
  const asking = new ScriptedWorker(engine, { codeId: 'v2', steps: 1 });
  const run = await start('a');
  await asking.turn(step(1), step(2), step(3));
  await engine.recordTrace(run, {});
  expect([asking, before].map((worker) => worker.pending('step').length)).toEqual([1, 0]);
  expect((await engine.why(run)).reasons).toMatchObject([
    { code: 'stepRunning' },
    { code: 'stepQueued', queuedBehind: 0 },
    { code: 'stepQueued', queuedBehind: 1 },
  ]);
  asking.say({ kind: 'draining' });
  await engine.recordTrace(run, {});
  expect([asking, before].map((worker) => worker.pending('step').length)).toEqual([1, 2]);
});

it('a step goes to other code where that of its turn takes no steps', async () => {
  const others = new ScriptedWorker(engine, { codeId: 'v1', turns: 0 });
  const asking = new ScriptedWorker(engine, { codeId: 'v2', steps: 0 });
  await start('a');
  await asking.turn(step(1));
  await others.next('step');
});

it('a task goes to the workers of its catalog, and waits while there are none', async () => {
  const ours = new ScriptedWorker(engine, { catalog: 'ours' });
  await start('theirs', 'theirs');
  await start('ours', 'ours');
  expect((await ours.next('turn')).workflowId).toBe('ours');
  expect(ours.pending('turn')).toEqual([]);
  const theirs = new ScriptedWorker(engine, { catalog: 'theirs' });
  expect((await theirs.next('turn')).workflowId).toBe('theirs');
});
