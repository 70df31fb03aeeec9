/** The way of a step, scripted: its timeouts, retries, heartbeats and cancellation, and answers that come too late. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import type { HistoryEvent } from '../../core/history/event.js';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import type { StepTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from '../scripted-worker.fixture.js';

let folder: Folder;
let clock: HandClock;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
let run: RunRef;
beforeEach(async () => {
  folder = new Folder();
  clock = new HandClock();
  engine = folder.open({ clock });
  worker = new ScriptedWorker(engine);
  run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId: 'a' });
});
afterEach(() => folder.remove());

const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 10_000, maximumAttempts: 3 };

/** Takes the first turn with these commands, and then the step. */
async function begin(...commands: Command[]): Promise<StepTask> {
  await worker.turn(...commands);
  return worker.next('step');
}

/** The event that closes the step, which the next turn sees. */
async function closing(): Promise<HistoryEvent> {
  const task = await worker.turn(complete());
  return task.events.find(({ type }) => /^ACTIVITY_TASK_(COMPLETED|FAILED|TIMED_OUT|CANCELED)$/.test(type))!;
}

/** Lets time pass, and waits until what is due by then is on disk and told, by a timer of another run. */
async function pass(ms: number): Promise<void> {
  const workflowId = `clock-${clock.ms}`;
  await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });
  await worker.turn(timer(1, ms));
  clock.pass(ms);
  for (;;) {
    const task = await worker.next('turn');
    expect(task.workflowId, 'a turn that should not be').toBe(workflowId);
    worker.completeTurn(task, [complete()]);
    if (task.events.some(({ type }) => type === 'TIMER_FIRED')) break;
  }
  await engine.recordTrace(run, {});
}

it('a step that runs whenever the server stops is to blame for nothing, however often that is', async () => {
  const first = await begin(step(1, 'work', { retry: { ...retry, maximumAttempts: 2 } }));
  for (let stops = 0; stops < 12; stops++) {
    await engine.close();
    engine = folder.open({ clock });
    worker = new ScriptedWorker(engine);
    clock.pass(600_000);
    expect((await worker.next('step')).idempotencyKey).toBe(first.idempotencyKey);
  }
});

it('an attempt that says it was cancelled, though nobody has asked for that, has failed', async () => {
  const { runId, scheduledEventId, attempt } = await begin(step(1, 'work', { retry }));
  worker.say({ kind: 'stepCancelled', runId, scheduledEventId, attempt });
  await pass(10_000);
  worker.completeStep(await worker.next('step'));
  expect((await closing()).type).toBe('ACTIVITY_TASK_COMPLETED');
});

describe('an attempt that fails', () => {
  it('is repeated after its backoff and not before, with the same idempotency key', async () => {
    const first = await begin(step(1, 'work', { retry }));
    worker.failStep(first);
    await pass(9_000);
    expect(worker.pending('step')).toEqual([]);
    clock.pass(1_000);
    const second = await worker.next('step');
    expect(second).toMatchObject({ attempt: 2, idempotencyKey: first.idempotencyKey });
    worker.completeStep(second);
    expect((await closing()).type).toBe('ACTIVITY_TASK_COMPLETED');
  });

  it('is not repeated when its backoff ends after the time for all of them', async () => {
    worker.failStep(await begin(step(1, 'work', { retry, scheduleToCloseTimeoutMs: 9_000 })));
    expect(await closing()).toMatchObject({
      type: 'ACTIVITY_TASK_FAILED',
      attributes: { retryState: 'TIMEOUT' },
    });
  });

  it('is not repeated when the step was cancelled meanwhile', async () => {
    const task = await begin(step(1, 'work', { retry }));
    await engine.signal(run, 'stop', []);
    await worker.turn({ kind: 'cancelStep', activityId: '1' });
    expect(await worker.next('stopStep')).toMatchObject({ reason: 'cancelled' });
    worker.failStep(task);
    expect(await closing()).toMatchObject({
      type: 'ACTIVITY_TASK_FAILED',
      attributes: { retryState: 'CANCEL_REQUESTED' },
    });
  });

  it('is cancelled while it waits for its backoff', async () => {
    worker.failStep(await begin(step(1, 'work', { retry })));
    await engine.signal(run, 'stop', []);
    await worker.turn({ kind: 'cancelStep', activityId: '1' });
    expect((await closing()).type).toBe('ACTIVITY_TASK_CANCELED');
  });
});

describe('an attempt that takes too long', () => {
  it('is told so, and its late answer does not count for the next one', async () => {
    const first = await begin(step(1, 'work', { retry, startToCloseTimeoutMs: 5_000 }));
    clock.pass(5_000);
    expect(await worker.next('stopStep')).toMatchObject({ reason: 'timedOut', attempt: 1 });
    clock.pass(10_000);
    const second = await worker.next('step');
    expect(second.attempt).toBe(2);
    worker.completeStep(first, '"late"');
    worker.completeStep(second, '"in time"');
    expect((await closing()).attributes).toMatchObject({ result: '"in time"' });
  });

  it('is given the time that its signs of life put off, and those are kept over a kill', async () => {
    const task = await begin(step(1, 'work', { retry, heartbeatTimeoutMs: 5_000 }));
    const { runId, scheduledEventId, attempt } = task;
    await pass(4_000);
    worker.say({ kind: 'stepHeartbeat', runId, scheduledEventId, attempt, details: '"half"' });
    await engine.recordTrace(run, {});
    const copy = folder.asKilled();
    await pass(4_000);
    expect(worker.pending('stopStep')).toEqual([]);
    clock.pass(1_000);
    expect(await worker.next('stopStep')).toMatchObject({ reason: 'timedOut' });
    clock.pass(10_000);
    expect(await worker.next('step')).toMatchObject({ attempt: 2, lastHeartbeat: '"half"' });

    const other = new ScriptedWorker(copy.open({ clock }));
    expect(await other.next('step')).toMatchObject({ attempt: 2, lastHeartbeat: '"half"' });
    await copy.remove();
  });

  it('has never started when no worker has a place for it', async () => {
    await worker.turn(complete());
    worker.lose();
    worker = new ScriptedWorker(engine, { steps: 0 });
    await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [] });
    await worker.turn(step(1, 'work', { retry, scheduleToStartTimeoutMs: 5_000 }));
    clock.pass(5_000);
    expect((await closing()).attributes).toMatchObject({
      retryState: 'TIMEOUT',
      failure: { timeoutType: 'SCHEDULE_TO_START' },
    });
  });
});

it('a further attempt has been begun before, however long it waits for a worker', async () => {
  worker.failStep(await begin(step(1, 'work', { retry, scheduleToStartTimeoutMs: 5_000 })));
  await engine.recordTrace(run, {});
  worker.lose();
  worker = new ScriptedWorker(engine, { steps: 0 });
  // Longer than the time between the attempts, and than the first one was given to begin.
  await pass(10_000);
  await pass(10_000);
  expect(worker.pending('turn')).toEqual([]);
  const able = new ScriptedWorker(engine);
  expect((await able.next('step')).attempt).toBe(2);
});

describe('an attempt of a run that closes', () => {
  it.each([
    ['by itself', () => worker.turn(complete())],
    ['from outside', () => engine.terminate(run, 'enough')],
  ])('%s is told so once that is on disk, and its answer changes nothing', async (how, close) => {
    const task = await begin(step(1, 'work', { retry }));
    if (how === 'by itself') await engine.signal(run, 'end', []);
    await close();
    expect(await worker.next('stopStep')).toMatchObject({ reason: 'runClosed', attempt: 1 });
    worker.completeStep(task, '"late"');
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.map(({ type }) => type)).not.toContain('ACTIVITY_TASK_COMPLETED');
    expect(engine.load().stepsUnderWay).toBe(0);
  });
});

describe('a worker that answers nonsense', () => {
  it.each([
    ['schedules a step twice', [step(1), step(1)], 'scheduleStep of 1 a second time'],
    ['asks for more behind the end', [complete(), timer(1, 1_000)], 'completeRun before the end'],
    [
      'cancels a step that is not there',
      [{ kind: 'cancelStep', activityId: '7' } as const],
      'cancelStep of 7',
    ],
    ['starts a timer twice', [timer(1, 1_000), timer(1, 1_000)], 'startTimer of 1 a second time'],
  ])('and %s changes nothing, and its run is held back with the reason', async (_what, commands, reason) => {
    await worker.turn(...commands);
    const { events } = await engine.history(run, { afterEventId: 2, limit: 10, waitMs: 5_000 });
    expect(events.map(({ type }) => type)).toEqual([
      'WORKFLOW_TASK_STARTED',
      'WORKFLOW_TASK_FAILED',
      'WORKFLOW_TASK_SCHEDULED',
    ]);
    expect((await engine.describe(run)).heldBack?.reason).toContain(reason);
  });
});

describe('a worker that is lost with many steps', () => {
  const STEPS = 350;

  it('has them taken from it a hundred at a time, and others are answered in between', async () => {
    worker.lose();
    const first = new ScriptedWorker(engine, { steps: STEPS });
    await first.turn(...Array.from({ length: STEPS }, (_, index) => step(index + 1)));
    for (let left = STEPS; left > 0; left--) await first.next('step');
    // Else each would be tried with care.
    first.say({ kind: 'draining' });
    first.lose();
    expect(engine.load().stepsQueued).toBe(100);
    await engine.signal(run, 'go', []);
    expect(engine.load().stepsQueued).toBeLessThan(STEPS);
    const second = new ScriptedWorker(engine, { steps: STEPS });
    const given = new Set<number>();
    for (let left = STEPS; left > 0; left--) {
      const { scheduledEventId, attempt } = await second.next('step');
      expect(attempt).toBe(2);
      given.add(scheduledEventId);
    }
    expect(given.size).toBe(STEPS);
  });

  it('has made none of those that were to be sent with the next commit', async () => {
    worker.lose();
    const first = new ScriptedWorker(engine, { steps: STEPS });
    const once = { ...retry, maximumAttempts: 1 };
    const steps = Array.from({ length: STEPS }, (_, index) => step(index + 1, 'work', { retry: once }));
    first.completeTurn(await first.next('turn'), steps);
    while (engine.load().stepsUnderWay < STEPS) await null;
    first.lose();
    const second = new ScriptedWorker(engine, { steps: STEPS });
    for (let left = STEPS; left > 0; left--) expect((await second.next('step')).attempt).toBe(1);
    expect(first.pending('step')).toEqual([]);
    expect(second.pending('turn')).toEqual([]);
  });
});

describe('what becomes of a step while others decide', () => {
  it('that times out during a turn has timed out once', async () => {
    const once = { ...retry, maximumAttempts: 1 };
    await begin(step(1, 'work', { retry: once, startToCloseTimeoutMs: 10_000 }));
    await engine.signal(run, 'go', []);
    const underWay = await worker.next('turn');
    await pass(10_000);
    await pass(10_000);
    worker.completeTurn(underWay);
    const { events } = await worker.turn(complete());
    expect(events.filter(({ type }) => type === 'ACTIVITY_TASK_TIMED_OUT')).toHaveLength(1);
  });

  it('that has ended as cancelled during a turn does not time out as well', async () => {
    const once = { ...retry, maximumAttempts: 1 };
    const task = await begin(step(1, 'work', { retry: once, startToCloseTimeoutMs: 10_000 }));
    await engine.signal(run, 'go', []);
    await worker.turn({ kind: 'cancelStep', activityId: '1' });
    await engine.signal(run, 'more', []);
    const underWay = await worker.next('turn');
    const { runId, scheduledEventId, attempt } = task;
    worker.say({ kind: 'stepCancelled', runId, scheduledEventId, attempt });
    await pass(10_000);
    worker.completeTurn(underWay);
    expect((await closing()).type).toBe('ACTIVITY_TASK_CANCELED');
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('is over when it is cancelled between two attempts, and a start finds nothing of it', async () => {
    worker.failStep(await begin(step(1, 'work', { retry })));
    await engine.signal(run, 'go', []);
    await worker.turn({ kind: 'cancelStep', activityId: '1' });
    const task = await worker.next('turn');
    expect(task.events.map(({ type }) => type)).toContain('ACTIVITY_TASK_CANCELED');
    await engine.close();
    engine = folder.open({ clock });
    worker = new ScriptedWorker(engine);
    await worker.turn(complete());
    expect((await engine.outcome(run, { waitMs: 5_000 }))?.status).toBe('completed');
  });

  it('does not go out when its run is terminated before that it was asked for is on disk', async () => {
    worker.completeTurn(await worker.next('turn'), [step(1)]);
    // It is given to the worker in the same round, and sent with the commit.
    while (engine.load().stepsUnderWay === 0) await null;
    await engine.terminate(run, 'enough');
    expect(worker.pending('step')).toEqual([]);
  });
});

it('an attempt that was lost before it was sent was none', async () => {
  worker.completeTurn(await worker.next('turn'), [step(1)]);
  while (engine.load().stepsUnderWay === 0) await null;
  worker.lose();
  worker = new ScriptedWorker(engine);
  expect(await worker.next('step')).toMatchObject({ runId: run.runId, attempt: 1 });
});

it('an attempt is told what is left of the time that its step has in all', async () => {
  const first = await begin(
    step(1, 'work', { retry, startToCloseTimeoutMs: 60_000, scheduleToCloseTimeoutMs: 30_000 }),
  );
  expect(first.timeoutMs).toBe(30_000);
  worker.failStep(first);
  await pass(10_000);
  expect((await worker.next('step')).timeoutMs).toBe(20_000);
});
