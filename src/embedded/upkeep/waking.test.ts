/** Due times: clocks that are set, waits that are no whole numbers, turns that are tried again. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import type { RunRef } from '../../engine.js';
import { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
  workflow,
} from '../scripted-worker.fixture.js';

let folder: Folder;
let clock: HandClock;
beforeEach(() => {
  folder = new Folder();
  clock = new HandClock();
});
afterEach(() => folder.remove());

const start = (engine: EmbeddedEngine, workflowId: string, workflowType = 'flow'): Promise<RunRef> =>
  engine.start({ workflowType, catalog: CATALOG, input: ['1'], workflowId });

describe('a clock that is set', () => {
  it('back for a while and then right again does not keep anything from becoming due', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const first = await start(engine, 'a');
    await worker.turn(timer(1, 10_000));
    clock.offsetMs = -3_600_000;
    await start(engine, 'b');
    await worker.turn(timer(1, 10));
    clock.ms += 20;
    expect((await worker.turn()).workflowId).toBe('b');
    await engine.recordTrace(first, {});
    // Now the engine waits for the timer of a, which is an hour away by this clock.
    clock.offsetMs = 0;
    clock.ms += 10_000;
    const turn = await worker.next('turn');
    expect(turn.runId).toBe(first.runId);
    expect(turn.events.map(({ type }) => type)).toContain('TIMER_FIRED');
  });

  it('forward makes due what its time says, within a look', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    await start(engine, 'a');
    await worker.turn(timer(1, 3_600_000));
    await start(engine, 'b');
    await worker.turn();
    clock.offsetMs = 3_600_000;
    expect((await worker.next('turn')).workflowId).toBe('a');
  });
});

describe('timers that are found due together', () => {
  it('fire in the order of their instants, and those of one instant as they were started', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    await start(engine, 'a');
    await worker.turn(timer(1, 3_000), timer(2, 1_000), timer(3, 2_000), timer(4, 1_000));
    clock.ms += 5_000;
    const { events } = await worker.next('turn');
    const fired = events.filter((event) => event.type === 'TIMER_FIRED');
    expect(fired.map(({ attributes }) => attributes.timerId)).toEqual(['2', '4', '3', '1']);
  });
});

describe('a clock that was ahead for a while', () => {
  it('does not put off what begins after it is right again', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    clock.offsetMs = 10 * 365 * 86_400_000;
    await engine.signal(run, 'from the future', []);
    await worker.turn();
    clock.offsetMs = 0;
    await engine.signal(run, 'from now', []);
    await worker.turn(timer(1, 1_000), step(2, 'work', { startToCloseTimeoutMs: 1_000 }));
    await worker.next('step');
    clock.ms += 2_000;
    const turn = await worker.turn();
    expect(turn.events.map(({ type }) => type)).toContain('TIMER_FIRED');
    // The attempt has timed out as well, and is tried again.
    clock.ms += 60_000;
    expect((await worker.next('step')).attempt).toBe(2);
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    const times = events.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

describe('a backoff that is no whole number of milliseconds', () => {
  it('is rounded up, for steps', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    const retry = {
      ...DEFAULT_STEP_RETRY,
      initialIntervalMs: 1_001,
      backoffCoefficient: 1.1,
      maximumAttempts: 5,
    };
    await worker.turn(step(1, 'work', { retry }));
    for (let attempt = 1; attempt <= 4; attempt++) {
      worker.failStep(await worker.next('step'));
      clock.ms += 60_000;
    }
    worker.completeStep(await worker.next('step'));
    await worker.turn(complete());
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('is rounded up, for workflows', async () => {
    const engine = folder.open({ clock });
    const retry = {
      ...DEFAULT_STEP_RETRY,
      initialIntervalMs: 33,
      backoffCoefficient: 1.1,
      maximumAttempts: 5,
    };
    const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    const run = await start(engine, 'a');
    for (let attempt = 1; attempt <= 3; attempt++) {
      const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
      await worker.turn({ kind: 'failRun', failure });
      clock.ms += 60_000;
    }
    await worker.turn(complete());
    const outcome = await engine.outcome({ workflowId: run.workflowId }, { waitMs: 5_000 });
    expect(outcome?.status).toBe('completed');
  });

  it('holds back a run whose turn asks for one, and nothing else', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const strange = await start(engine, 'a');
    await worker.turn(timer(1, 1.5));
    await start(engine, 'b');
    await worker.turn(timer(1, Number.MAX_SAFE_INTEGER));
    const healthy = await start(engine, 'c');
    await worker.turn(complete());
    expect((await engine.outcome(healthy, { waitMs: 5_000 }))?.status).toBe('completed');
    expect((await engine.describe(strange)).heldBack?.reason).toContain('startTimer of 1.5 ms');
  });
});

describe('a run in its retry backoff', () => {
  it('takes messages and makes its first turn when its time has come (as on Temporal)', async () => {
    const engine = folder.open({ clock });
    const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 10_000, maximumAttempts: 2 };
    const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    const { workflowId } = await start(engine, 'a');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    await worker.turn({ kind: 'failRun', failure });
    await engine.signal({ workflowId }, 'early', []);
    const update = engine.update({ workflowId }, 'change', []);
    await start(engine, 'b');
    expect((await worker.turn()).workflowId).toBe('b');
    clock.ms += 10_000;
    const turn = await worker.next('turn');
    expect(turn.workflowId).toBe('a');
    expect(turn.events.map(({ type }) => type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    const { updateId } = turn.updates[0]!;
    worker.completeTurn(turn, [
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId, result: '7' },
      complete(),
    ]);
    expect(await update).toBe('7');
  });

  it('makes it at once when it is asked to stop (as on Temporal)', async () => {
    const engine = folder.open({ clock });
    const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 3_600_000, maximumIntervalMs: 3_600_000 };
    const worker = new ScriptedWorker(engine, { workflows: [workflow('flow', { retry })] });
    const { workflowId } = await start(engine, 'a');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    await worker.turn({ kind: 'failRun', failure });
    await engine.signal({ workflowId }, 'early', []);
    await engine.cancel({ workflowId });
    const turn = await worker.turn({ kind: 'cancelRun' });
    expect(turn.events.map(({ type }) => type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_EXECUTION_SIGNALED',
      'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    expect(await engine.outcome({ workflowId }, { waitMs: 5_000 })).toMatchObject({ status: 'cancelled' });
  });
});

describe('a held back run whose time has come', () => {
  const misfit = { kind: 'application', type: 'NonDeterministicError', message: 'does not fit' } as const;

  /** Commits while `waits` goes on, on an engine where nothing else happens. */
  async function commitsDuring(prepare: (engine: EmbeddedEngine) => Promise<void>): Promise<number> {
    let commits = 0;
    const observer = { committed: () => void commits++ };
    const engine = EmbeddedEngine.open({ dataDir: folder.path, clock, observer });
    try {
      await prepare(engine);
      commits = 0;
      clock.ms += 3_600_000;
      // Long enough for the engine to look at the clock, and for hundreds of commits if it went round and round.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return commits;
    } finally {
      await engine.close();
    }
  }

  it('waits for a worker without being committed again and again', async () => {
    const commits = await commitsDuring(async (engine) => {
      const worker = new ScriptedWorker(engine);
      await start(engine, 'a');
      const { turnId, runId } = await worker.next('turn');
      worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure: misfit });
      worker.lose();
    });
    expect(commits).toBeLessThan(5);
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    await worker.turn(complete());
    expect((await engine.outcome({ workflowId: 'a' }, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('is tried again after a pause that grows, and leaves one event and not one per try', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    for (const pauseMs of [1_000, 4_000, 16_000]) {
      const { turnId, runId } = await worker.next('turn');
      worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure: misfit });
      clock.pass(pauseMs - 1);
      // Another run's turn shows that nothing else waits to be given out, and its timer that the engine has looked.
      const workflowId = `beside ${pauseMs}`;
      await start(engine, workflowId);
      expect((await worker.turn(timer(1, 0))).workflowId).toBe(workflowId);
      expect((await worker.turn(complete())).workflowId).toBe(workflowId);
      clock.pass(1);
    }
    await worker.turn(complete());
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('completed');
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.filter(({ type }) => type === 'WORKFLOW_TASK_FAILED')).toHaveLength(1);
  });

  it('is not tried before, also when it was queued twice since it was asked to stop', async () => {
    const engine = folder.open({ clock, limits: { cachedRuns: 0 } });
    const run = await start(engine, 'a');
    await engine.cancel(run);
    await start(engine, 'b');
    const worker = new ScriptedWorker(engine, { turns: 1 });
    expect((await worker.misfit()).workflowId).toBe('a');
    const beside = await worker.next('turn');
    engine.flush();
    worker.completeTurn(beside, [complete()]);
    expect((await engine.outcome({ workflowId: 'b' }, { waitMs: 5_000 }))?.status).toBe('completed');
    expect(worker.pending('turn')).toEqual([]);
  });

  it('is not held back any more once a turn has only refused what it was for', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const update = engine.update(run, 'change', []);
    const { turnId, runId } = await worker.next('turn');
    worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure: misfit });
    clock.ms += 2_000;
    const again = await worker.next('turn');
    const { updateId } = again.updates[0]!;
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    worker.completeTurn(again, [{ kind: 'rejectUpdate', updateId, reason: 'validator', failure }]);
    await expect(update).rejects.toThrow('no');
    expect((await engine.describe(run)).heldBack).toBeUndefined();
  });

  it('is not held back any more when nothing waits for the turn that failed', async () => {
    const commits = await commitsDuring(async (engine) => {
      const worker = new ScriptedWorker(engine);
      const run = await start(engine, 'a');
      await worker.turn();
      const update = engine.update(run, 'change', []).catch((error: Error) => error.name);
      const { turnId, runId } = await worker.next('turn');
      worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure: misfit });
      worker.lose();
      await engine.terminate(await start(engine, 'b'), 'to have all of it on disk');
      void update;
    });
    expect(commits).toBeLessThan(5);
  });

  it.each(['code comes for it', 'its code leaves', 'a restart'])(
    'is not held back any more when what it was for was given up before %s',
    async (what) => {
      let engine = folder.open({ clock, limits: { messageTimeoutMs: 200 } });
      const worker = new ScriptedWorker(engine);
      const run = await start(engine, 'a');
      await worker.turn();
      const update = engine.update(run, 'change', []);
      await worker.misfit();
      engine.flush();
      // Code that could make the turn, and has its hands full.
      const workflows = [workflow('flow'), workflow('long')];
      await start(engine, 'before', 'long');
      const other = new ScriptedWorker(engine, { codeId: 'v2', turns: 1, workflows });
      expect((await other.next('turn')).workflowId).toBe('before');
      await expect(update).rejects.toThrow('the run is held back and takes no updates');
      engine.flush();
      expect((await engine.describe(run)).heldBack).toBeDefined();
      if (what === 'code comes for it') new ScriptedWorker(engine, { codeId: 'v2' });
      else if (what === 'its code leaves') other.lose();
      else {
        await engine.close();
        engine = folder.open({ clock });
      }
      await engine.terminate(await start(engine, 'b'), 'to have all of it on disk');
      expect((await engine.describe(run)).heldBack).toBeUndefined();
    },
  );
});

it('a run that is held back is tried again at least every ten minutes', async () => {
  const engine = folder.open({ clock });
  const worker = new ScriptedWorker(engine);
  const run = await start(engine, 'a');
  const since = clock.now();
  for (const seconds of [1, 4, 16, 64, 256, 600, 600]) {
    await worker.misfit();
    await engine.recordTrace(run, {});
    expect((await engine.describe(run)).heldBack?.since).toBe(since);
    clock.pass(seconds * 1_000);
  }
  expect((await worker.next('turn')).workflowId).toBe('a');
});

it('a run that is held back is tried again in its time, however long it would wait for a timer', async () => {
  const engine = folder.open({ clock });
  const worker = new ScriptedWorker(engine);
  const run = await start(engine, 'a');
  await worker.turn(timer(1, 3_600_000));
  await engine.signal(run, 'go', []);
  await worker.misfit();
  await engine.recordTrace(run, {});
  clock.pass(1_000);
  expect((await worker.next('turn')).workflowId).toBe('a');
});

describe('what waits for a turn to end', () => {
  it('wakes nobody again and again, though its own time comes meanwhile', async () => {
    let commits = 0;
    const engine = folder.open({ clock, inspectCommit: () => commits++ });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(step(1, 'work', { startToCloseTimeoutMs: 10_000 }));
    const task = await worker.next('step');
    await engine.signal(run, 'go', []);
    await worker.next('turn');
    worker.completeStep(task);
    await engine.recordTrace(run, {});
    clock.pass(10_000);
    // Another run becomes due at the same time, and shows that whoever is due was looked at.
    await start(engine, 'b');
    await worker.turn(timer(1, 10));
    clock.pass(10);
    await worker.turn();
    await engine.recordTrace(run, {});
    const before = commits;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(commits - before).toBeLessThan(3);
  });
});

describe('a process that was suspended', () => {
  /** Keeps the process from everything, as a container does that is paused, while what workers say waits to be read. */
  function suspended(ms: number, meanwhile: () => void): Promise<void> {
    const read = new Promise<void>((resolve) => {
      setImmediate(() => {
        meanwhile();
        resolve();
      });
    });
    clock.pass(ms);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    return read;
  }

  it('hears what has come in time before it calls a step late', async () => {
    const engine = folder.open({ clock });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn(
      step(1, 'works', { startToCloseTimeoutMs: 10_000 }),
      step(2, 'beats', { heartbeatTimeoutMs: 10_000 }),
    );
    const works = await worker.next('step');
    const { runId, scheduledEventId, attempt } = await worker.next('step');
    await engine.recordTrace(run, {});
    await suspended(20_000, () => {
      worker.completeStep(works, '"in time"');
      worker.say({ kind: 'stepHeartbeat', runId, scheduledEventId, attempt, details: undefined });
    });
    const { events } = await worker.next('turn');
    expect(events.map(({ type }) => type)).toContain('ACTIVITY_TASK_COMPLETED');
    expect(worker.pending('stopStep')).toEqual([]);
    clock.pass(10_000);
    expect(await worker.next('stopStep')).toMatchObject({ reason: 'timedOut', scheduledEventId });
  });
});
