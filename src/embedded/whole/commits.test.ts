/** What belongs into one commit is in one commit, and what a commit could not write is not forgotten. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine, EmbeddedEngineOptions } from '../index.js';
import {
  CATALOG,
  child,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
  workflow,
} from '../scripted-worker.fixture.js';
import { CommitChain } from '../store/folder/commit-chain.js';

let folder: Folder;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;

beforeEach(() => {
  folder = new Folder();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await folder.remove();
});

function open(options: Partial<EmbeddedEngineOptions> = {}): void {
  engine = folder.open(options);
  worker = new ScriptedWorker(engine);
}

const start = (workflowId: string, more: object = {}): Promise<RunRef> =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId, ...more });

/** The next turn of that workflow; those of others before it are answered with nothing. */
async function turnOf(workflowId: string, ...commands: Command[]) {
  for (;;) {
    const task = await worker.next('turn');
    worker.completeTurn(task, task.workflowId === workflowId ? commands : []);
    if (task.workflowId === workflowId) return task;
  }
}

const outcome = (workflowId: string) => engine.outcome({ workflowId }, { waitMs: 5_000 });

describe('a child that the result of a step closes, since its history is full', () => {
  /** What may be kept back for a moment is a step's result; what follows from it here is not. */
  it.each(['is under way', 'waits'])(
    'is in one commit with its parent, whose turn %s',
    async (parentTurn) => {
      open({ limits: { historyEvents: 13 } });
      await start('parent');
      await worker.turn(child(1, 'kid'));
      const first = await worker.next('turn');
      const second = await worker.next('turn');
      const ofKid = first.workflowId === 'kid' ? first : second;
      const ofParent = first.workflowId === 'kid' ? second : first;
      if (parentTurn === 'waits') worker.completeTurn(ofParent);
      worker.completeTurn(ofKid, [step(1)]);
      worker.completeStep(await worker.next('step'));
      // Its history has eight events by now, and thirteen with the second step: the parent has nine at most.
      worker.completeTurn(await worker.next('turn'), [step(2)]);
      worker.completeStep(await worker.next('step'));
      // The folder looks at both after every commit.
      expect((await outcome('kid'))?.failure).toMatchObject({ type: 'LimitExceededError' });
      expect((await engine.describe({ workflowId: 'parent' })).status).toBe('running');
    },
  );
});

describe('a chain of runs', () => {
  const continueAsNew: Command = { kind: 'continueAsNew', workflowType: 'flow', input: [] };

  it('is one child to its parent, which hears of its end', async () => {
    open();
    await start('parent');
    await worker.turn(child(1, 'kid'));
    await turnOf('kid', continueAsNew);
    await turnOf('kid', continueAsNew);
    await turnOf('kid', complete('"third"'));
    let seen = await turnOf('parent');
    while (!seen.events.some(({ type }) => type === 'CHILD_WORKFLOW_EXECUTION_COMPLETED')) {
      seen = await turnOf('parent');
    }
  });

  it('has one execution timeout', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock });
    const workflows = [workflow('flow', { executionTimeoutMs: 10_000 })];
    worker = new ScriptedWorker(engine, { workflows });
    await start('a');
    clock.pass(6_000);
    await worker.turn(continueAsNew);
    await worker.turn(timer(1, 60_000));
    clock.pass(6_000);
    expect((await outcome('a'))?.status).toBe('timed_out');
  });

  it('is retried as often as its policy says', async () => {
    const clock = new HandClock();
    engine = folder.open({ clock });
    const retry = {
      ...{ initialIntervalMs: 10, backoffCoefficient: 1, maximumIntervalMs: 10, maximumAttempts: 3 },
      nonRetryableErrorTypes: [],
    };
    worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    await start('a');
    for (let attempt = 1; attempt <= 3; attempt++) {
      await worker.turn({ kind: 'failRun', failure: { kind: 'application', type: 'Error', message: 'no' } });
      clock.pass(10);
    }
    expect((await outcome('a'))?.status).toBe('failed');
    expect((await engine.list({ workflowId: 'a' }, { limit: 10 })).runs).toHaveLength(3);
  });
});

describe('a turn that asks for children and closes the run', () => {
  it('starts those that go on without it, and no others', async () => {
    open();
    const run = await start('a');
    await worker.turn(child(1, 'attached'), child(2, 'detached', 'ABANDON'), complete());
    await engine.outcome(run, { waitMs: 5_000 });
    expect((await engine.describe({ workflowId: 'detached' })).status).toBe('running');
    await expect(engine.describe({ workflowId: 'attached' })).rejects.toMatchObject({
      name: 'WorkflowNotFoundError',
    });
  });
});

describe('what is kept back', () => {
  it('is committed by itself, also when others commit first and its turn is not answered', async () => {
    open();
    const run = await start('a');
    await worker.turn(step(1));
    const task = await worker.next('step');
    const other = await start('b');
    await worker.next('turn');
    worker.completeStep(task);
    await engine.signal(other, 'now', []);
    const { events } = await engine.history(run, { afterEventId: 6, limit: 1, waitMs: 5_000 });
    expect(events.map(({ type }) => type)).toEqual(['ACTIVITY_TASK_COMPLETED']);
  });
});

describe('a start with an idempotency key', () => {
  const idempotency = { key: 'k', fingerprint: 'f' };

  it('that somebody waits for is in one commit with its key', async () => {
    open();
    const run = await start('a', { idempotency, isAwaited: true });
    // The folder finds rows that belong to no run after every commit.
    await engine.recordTrace(await start('b'), {});
    expect((await engine.describe(run)).status).toBe('running');
  });

  it('is one start, also for those who ask again before it is on disk', async () => {
    open();
    const request = { workflowType: 'flow', catalog: CATALOG, input: ['1'], idempotency };
    const runs = await Promise.all([engine.start(request), engine.start(request), engine.start(request)]);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    expect((await engine.list({}, { limit: 10 })).runs).toHaveLength(1);
  });
});

describe('a commit that finds no space', () => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });

  /** Until there is space every commit fails at its last write, as SQLite does it: all before it is rolled back. */
  function fill(): { makeSpace(): void } {
    const spy = vi.spyOn(CommitChain.prototype, 'save').mockImplementation(() => {
      throw full;
    });
    return { makeSpace: () => spy.mockRestore() };
  }

  it('acknowledges and sends nothing until it has been written, and then all of it', async () => {
    open({ limits: { lowWaterBytes: 0 } });
    const run = await start('a');
    const task = await worker.next('turn');
    const other = await start('b');
    const underWay = await worker.next('turn');
    const disk = fill();
    const told: string[] = [];
    worker.completeTurn(task, [step(1), timer(2, 60_000)]);
    const keyed = start('c', { idempotency: { key: 'k', fingerprint: 'f' } }).then((ref) => {
      told.push('start');
      return ref;
    });
    const repeated = start('c', { idempotency: { key: 'k', fingerprint: 'f' } }).then(() =>
      told.push('repeated start'),
    );
    const signal = engine.signal(other, 'A', []).then(() => told.push('signal'));
    // Until the engine has found that there is no space.
    await vi.waitFor(
      () => expect(engine.ready()).rejects.toMatchObject({ name: 'StorageFullError' }),
      60_000,
    );
    expect(told).toEqual([]);
    expect(worker.pending('step')).toEqual([]);
    disk.makeSpace();
    await Promise.all([keyed, repeated, signal]);
    worker.completeStep(await worker.next('step'));
    await turnOf('a', complete());
    expect((await outcome('a'))?.status).toBe('completed');
    worker.completeTurn(underWay);
    const next = await turnOf('b', complete());
    expect(next.events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
    // What was written beside the runs has been written too.
    const again = await start('c', { idempotency: { key: 'k', fingerprint: 'f' } });
    expect(again).toEqual(await keyed);
    await engine.close();
    open();
    expect(await start('c', { idempotency: { key: 'k', fingerprint: 'f' } })).toEqual(await keyed);
    expect((await engine.describe(run)).status).toBe('completed');
  });
});

describe('a wake time that becomes earlier', () => {
  it('is on disk, so that it is kept over a kill', async () => {
    const clock = new HandClock();
    open({ clock });
    const run = await start('a');
    // A worker has the step all the time, so that nothing else of the row changes.
    await worker.turn(step(1, 'work', { startToCloseTimeoutMs: 3_600_000 }));
    await worker.next('step');
    for (const [timerId, ms] of [10_000, 5_000, 1_000].entries()) {
      await engine.signal(run, 'sooner', []);
      await worker.turn(timer(timerId, ms));
    }
    await engine.recordTrace(run, {});
    clock.pass(1_000);
    const task = await worker.next('turn');
    const fired = task.events.filter(({ type }) => type === 'TIMER_FIRED');
    expect(fired.map(({ attributes }) => attributes)).toMatchObject([{ timerId: '2' }]);
  });
});

describe('a run that was retried', () => {
  it('is in one commit with the one that it follows', async () => {
    const retry = {
      ...{ initialIntervalMs: 10, backoffCoefficient: 1, maximumIntervalMs: 10, maximumAttempts: 2 },
      nonRetryableErrorTypes: [],
    };
    engine = folder.open();
    worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    await start('a');
    await worker.turn({ kind: 'failRun', failure: { kind: 'application', type: 'Error', message: 'no' } });
    await worker.turn(complete());
    expect((await outcome('a'))?.status).toBe('completed');
  });
});

describe('what a worker is sent', () => {
  it('leaves before a commit keeps the engine busy, and when a commit has let it go', async () => {
    const happened: string[] = [];
    engine = folder.open({ observer: { committed: () => void happened.push('committed') } });
    worker = new ScriptedWorker(engine, { onFlush: () => void happened.push('leaves') });
    worker.takeOver(({ kind }) => {
      happened.push(kind);
      return false;
    });
    await start('sends');
    await worker.turn(step(1, 'first'));
    await worker.next('step');
    await expect.poll(() => happened.at(-1)).toBe('leaves');
    const told = happened.join(' ');
    expect(told).toMatch(/turn leaves committed/);
    expect(told).toMatch(/committed step leaves/);
  });
});
