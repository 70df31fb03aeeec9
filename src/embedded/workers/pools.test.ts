/** How long what is held against a task makes it wait for a worker that stands by. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Scheduler, systemScheduler } from '../../core/clock.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, complete, Folder, once, ScriptedWorker, step } from '../scripted-worker.fixture.js';

const pool = { id: 'pool', size: 1, spares: 1 };

let folder: Folder;
let engine: EmbeddedEngine;
/** Time that has passed for the engine and not for the test. */
let passedMs: number;
let looks: number;
/** Workers are looked after every quarter of a second, and here much more often. */
const hasty: Scheduler = {
  ...systemScheduler,
  monotonicMs: () => systemScheduler.monotonicMs() + passedMs,
  after(ms, action, isBackground) {
    if (ms !== 250) return systemScheduler.after(ms, action, isBackground);
    looks++;
    return systemScheduler.after(1, action, isBackground);
  },
};

beforeEach(() => {
  passedMs = 0;
  looks = 0;
  folder = new Folder();
  engine = folder.open({ scheduler: hasty });
});
afterEach(() => folder.remove());

const start = (workflowId: string) =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });

async function lookedAfter(): Promise<void> {
  const before = looks;
  await expect.poll(() => looks, { interval: 2 }).toBeGreaterThan(before + 2);
}

it('a suspect goes to who works when nobody has come to stand by for ten seconds', async () => {
  const lost = new ScriptedWorker(engine, { pool });
  const worker = new ScriptedWorker(engine, { pool });
  await start('suspect');
  await lost.next('turn');
  lost.lose();
  await start('fine');
  expect((await worker.turn(complete())).workflowId).toBe('fine');
  passedMs += 5_000;
  await lookedAfter();
  expect(worker.pending('turn')).toEqual([]);
  passedMs += 6_000;
  await lookedAfter();
  expect(worker.pending('turn')).toMatchObject([{ workflowId: 'suspect' }]);
  await worker.turn(complete());
  const outcome = await engine.outcome({ workflowId: 'suspect' }, { waitMs: 5_000 });
  expect(outcome?.status).toBe('completed');
});

it('a suspect goes at once to who works in a pool of which nobody stands by', async () => {
  const alone = { ...pool, spares: 0 };
  const lost = new ScriptedWorker(engine, { pool: alone });
  await start('suspect');
  await lost.next('turn');
  lost.lose();
  const worker = new ScriptedWorker(engine, { pool: alone });
  await lookedAfter();
  expect(worker.pending('turn')).toMatchObject([{ workflowId: 'suspect' }]);
});

it('a step that keeps its worker from speaking until it ends has not proven harmless', async () => {
  const retry = { ...once, maximumAttempts: 2 };
  await start('endless');
  let worker = new ScriptedWorker(engine);
  await worker.turn(step(1, 'work', { retry }));
  // Lost, then held against it twice: that is as often as it may be tried.
  for (let attempt = 1; attempt <= 3; attempt++) {
    expect((await worker.next('step')).attempt).toBe(attempt);
    passedMs += 5_000;
    await lookedAfter();
    worker.lose();
    worker = new ScriptedWorker(engine, { isSilent: true });
  }
  const { events } = await worker.next('turn');
  expect(events.find(({ type }) => type === 'ACTIVITY_TASK_FAILED')?.attributes).toMatchObject({
    failure: { type: 'WorkerCrashed' },
    retryState: 'MAXIMUM_ATTEMPTS_REACHED',
  });
});
