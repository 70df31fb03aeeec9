/** What the embedded engine does for a paused run, and what is left of a pause after a kill. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
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
beforeEach(() => {
  folder = new Folder();
  clock = new HandClock();
  engine = folder.open({ clock });
});
afterEach(() => folder.remove());

const RUN = { workflowId: 'a' };
const start = (workflowId = 'a') =>
  engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId });
const pause = (by: 'operator' | 'budget' = 'operator') => engine.pause(RUN, { reason: 'a look', by });
const paused = async (of = engine) => (await of.describe(RUN)).paused;
const codes = async () => (await engine.why(RUN)).reasons.map(({ code }) => code);
const history = async (of = engine) =>
  (await of.history(RUN, { afterEventId: 0, limit: 1000 })).events.map(({ type }) => type);

describe('a pause', () => {
  it('keeps a step that waits for a worker from being handed out, and a resume hands it out', async () => {
    const worker = new ScriptedWorker(engine, { steps: 0 });
    await start();
    await worker.turn(step(1));
    await expect.poll(codes).toEqual(['noWorker', 'stepQueued']);
    await pause();
    const other = new ScriptedWorker(engine, { turns: 0 });
    await worker.turn();
    expect(await codes()).toEqual(['paused', 'stepQueued']);
    // Another run's step goes to the worker, which is there for this one as well.
    await start('other');
    await worker.turn(step(1));
    expect((await other.next('step')).workflowId).toBe('other');
    expect(other.pending('step')).toEqual([]);
    await engine.resume(RUN);
    expect((await other.next('step')).workflowId).toBe('a');
  });

  it('that comes during a turn keeps back the steps that the turn asks for', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    const turn = await worker.next('turn');
    await pause();
    expect(await paused()).toMatchObject({ reason: 'a look', by: 'operator', since: clock.now() });
    worker.completeTurn(turn, [step(1)]);
    // The turn that sees the pause comes after the one that asked for the step.
    await worker.turn();
    expect(worker.pending('step')).toEqual([]);
    await engine.resume(RUN);
    const task = await worker.next('step');
    worker.completeStep(task);
  });

  it('is over with a stop that comes during the same turn', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    const turn = await worker.next('turn');
    await pause();
    await engine.cancel(RUN);
    expect(await paused()).toBeUndefined();
    worker.completeTurn(turn);
    const { events } = await worker.turn({ kind: 'cancelRun' });
    expect(events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
    expect((await engine.outcome(RUN, { waitMs: 5_000 }))?.status).toBe('cancelled');
  });

  it('that a stop ends hands out nothing before the code knows that it is to stop', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    const turn = await worker.next('turn');
    await pause();
    worker.completeTurn(turn, [step(1), step(2)]);
    await worker.turn();
    await engine.cancel(RUN);
    const last = await worker.next('turn');
    engine.flush();
    expect(worker.pending('step')).toEqual([]);
    worker.completeTurn(last, [{ kind: 'cancelStep', activityId: '1' }]);
    // What it still wants now that it knows is handed out.
    expect((await worker.next('step')).scheduledEventId).toBe(6);
    expect(worker.pending('step')).toEqual([]);
  });

  it('that comes during the turn that would close the run is seen first', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    const turn = await worker.next('turn');
    await pause();
    worker.completeTurn(turn, [complete()]);
    const again = await worker.next('turn');
    expect(again.events.at(-1)).toMatchObject({
      type: 'WORKFLOW_EXECUTION_SIGNALED',
      attributes: { signalName: 'perdure.pause' },
    });
    worker.completeTurn(again);
    expect(await engine.describe(RUN)).toMatchObject({ status: 'running' });
  });

  it.each(['kill', 'restart'])('is there after a %s, with what was kept back', async (end) => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn(step(1, 'first'), step(2, 'second'), timer(1, 1_000));
    const first = await worker.next('step');
    await pause();
    await worker.turn();
    worker.failStep(await worker.next('step'));
    await expect.poll(codes).toEqual(['paused', 'stepRunning', 'stepBackingOff', 'timer']);
    worker.completeStep(first, '1');
    await worker.turn();
    await expect.poll(() => history()).toContain('ACTIVITY_TASK_COMPLETED');
    const before = await paused();
    if (end === 'restart') await engine.close();
    const left = end === 'kill' ? folder.asKilled() : folder;
    clock.pass(60_000);
    const next = left.open({ clock });
    try {
      expect(await paused(next)).toEqual(before);
      expect((await next.list({ paused: true }, { limit: 5 })).runs).toMatchObject([{ paused: before }]);
      const other = new ScriptedWorker(next);
      // What is due has its turn, and the step its time; it is handed out to nobody.
      await other.turn();
      await expect.poll(() => history(next)).toContain('TIMER_FIRED');
      await expect
        .poll(async () => (await next.why(RUN)).reasons.map(({ code }) => code))
        .toEqual(['paused', 'stepQueued']);
      expect(other.pending('step')).toEqual([]);
      await next.resume(RUN);
      expect((await other.next('step')).stepName).toBe('second');
    } finally {
      if (left !== folder) await left.remove();
    }
  });

  it('costs no memory: a run whose only step waits for it is not taken up by a start', async () => {
    const worker = new ScriptedWorker(engine, { steps: 0 });
    await start();
    await worker.turn(step(1));
    await pause();
    await worker.turn();
    await expect.poll(codes).toEqual(['paused', 'stepQueued']);
    await engine.close();
    const next = folder.open({ clock });
    expect(next.load().runsInMemory).toBe(0);
    await next.resume(RUN);
    expect((await new ScriptedWorker(next).next('step')).stepName).toBe('work');
  });

  it('makes an attempt that is lost with its worker wait', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn(step(1));
    await worker.next('step');
    await pause();
    await worker.turn();
    worker.lose();
    const other = new ScriptedWorker(engine);
    await expect.poll(codes).toEqual(['paused', 'stepQueued']);
    expect(other.pending('step')).toEqual([]);
    await engine.resume(RUN);
    expect(await other.next('step')).toMatchObject({ attempt: 2 });
  });

  it('does not stop the time of what has a limit', async () => {
    const worker = new ScriptedWorker(engine, { steps: 0 });
    await start();
    await worker.turn(step(1, 'work', { scheduleToCloseTimeoutMs: 5_000, retry: DEFAULT_STEP_RETRY }));
    await pause();
    await worker.turn();
    clock.pass(6_000);
    await worker.turn();
    await expect.poll(() => history()).toContain('ACTIVITY_TASK_TIMED_OUT');
    await expect.poll(codes).toEqual(['paused']);
  });

  it('is refused once the run was asked to stop, also while the request waits for a turn to end', async () => {
    const worker = new ScriptedWorker(engine);
    await start();
    const turn = await worker.next('turn');
    await engine.cancel(RUN);
    await expect(pause()).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError', status: 409 });
    worker.completeTurn(turn, [step(1)]);
    expect((await worker.next('step')).stepName).toBe('work');
  });

  it('ends with a request to stop, which hands out what was kept back', async () => {
    const worker = new ScriptedWorker(engine, { steps: 0 });
    await start();
    await worker.turn(step(1));
    await pause('budget');
    await worker.turn();
    await engine.cancel(RUN);
    expect(await paused()).toBeUndefined();
    const other = new ScriptedWorker(engine, { turns: 0 });
    expect((await other.next('step')).stepName).toBe('work');
  });

  it('counts for nothing among the signals that a run may receive', async () => {
    await engine.close();
    engine = folder.open({ clock, limits: { signalsPerRun: 2 } });
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn();
    for (let round = 0; round < 3; round++) {
      await pause();
      await worker.turn();
      await engine.resume(RUN);
      await worker.turn();
    }
    await engine.signal(RUN, 'one', []);
    await engine.signal(RUN, 'two', []);
    await expect(engine.signal(RUN, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
  });

  it('makes an update wait, and says so when the time for that is over', async () => {
    await engine.close();
    engine = folder.open({ limits: { messageTimeoutMs: 20 } });
    const worker = new ScriptedWorker(engine);
    await start();
    await worker.turn(timer(1, 3_600_000));
    await pause();
    const turn = await worker.next('turn');
    worker.completeTurn(turn);
    await expect(engine.update(RUN, 'any', [])).rejects.toMatchObject({
      name: 'EngineUnavailableError',
      message: 'the run is paused (a look) and takes updates once it is resumed',
    });
    expect(worker.pending('turn')).toEqual([]);
  });

  it('is not blamed for a query that nobody answers', async () => {
    await engine.close();
    engine = folder.open({ limits: { messageTimeoutMs: 20 } });
    await start();
    await pause();
    await expect(engine.query(RUN, 'any', [])).rejects.toMatchObject({
      name: 'EngineUnavailableError',
      message: expect.stringContaining('no worker of catalog'),
    });
  });
});
