import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../core/history/event.js';
import type { StepTask, TurnTask } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import { nextTurn } from '../../worker/next-turn.js';
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
  run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'] });
});
afterEach(() => folder.remove());

/** The turn after the step, begun by the worker as the step completes. */
function begin(task: StepTask, begunAt = clock.ms): TurnTask {
  const { runId, scheduledEventId, attempt } = task;
  worker.say({ kind: 'stepCompleted', runId, scheduledEventId, attempt, result: '"paid"', begunAt });
  return nextTurn(task, task.next!, CATALOG, '"paid"', begunAt);
}

const history = async (): Promise<HistoryEvent[]> =>
  (await engine.history(run, { afterEventId: 0, limit: 1_000 })).events;
const closed = () => engine.outcome(run, { waitMs: 5_000 });

describe('a run that its worker had forgotten', () => {
  it('goes to another one when that worker has left, though it had nothing to do for it', async () => {
    const { turnId, runId } = await worker.turn(timer(1, 1_000));
    worker.say({ kind: 'turnMissed', turnId, runId });
    worker.lose();
    const other = new ScriptedWorker(engine);
    await engine.signal(run, 'go', []);
    expect((await other.next('turn')).runId).toBe(runId);
  });
});

describe('the turn after a step', () => {
  it('is the run’s next one when a worker has begun it, without a word from the engine', async () => {
    await worker.turn(step(1));
    const task = await worker.next('step');
    clock.ms += 500;
    const begunAt = clock.ms;
    clock.ms += 40;
    worker.completeTurn(begin(task, begunAt), [step(2)]);
    const second = await worker.next('step');
    worker.completeTurn(begin(second), [complete()]);

    expect(await closed()).toMatchObject({ status: 'completed', output: '"done"' });
    expect(worker.pending('turn')).toEqual([]);
    expect(worker.pending('forget')).toEqual([]);
    const started = (await history()).filter((event) => event.type === 'WORKFLOW_TASK_STARTED');
    expect(started.map(({ attributes }) => attributes.workflowTime)).toEqual([undefined, begunAt, undefined]);
    expect(started[1]!.at).toBe(clock.ms);
  });

  it('has the events that the engine would have sent, as far as a turn reads them', async () => {
    await worker.turn(step(1));
    const task = await worker.next('step');
    const { events: begun, ...built } = nextTurn(task, task.next!, CATALOG, '"paid"', clock.ms);
    worker.completeStep(task, '"paid"');
    const { events: sent, ...given } = await worker.next('turn');
    expect({ ...built, turnId: given.turnId }).toEqual(given);
    expect(begun.map(({ id, type }) => [id, type])).toEqual(sent.map(({ id, type }) => [id, type]));
    sent.forEach((event, index) => {
      // What a turn does not look at may be left out, but nothing may differ.
      expect(event.attributes).toMatchObject(begun[index]!.attributes);
    });
  });

  it('is told to continue as new when the engine would tell it', async () => {
    await engine.close();
    engine = folder.open({ clock, limits: { historyEventsSuggestContinue: 8 } });
    worker = new ScriptedWorker(engine);
    await worker.turn(step(1));
    const task = await worker.next('step');
    const begun = nextTurn(task, task.next!, CATALOG, 'null', clock.ms);
    worker.completeStep(task);
    expect(begun.continueAsNewSuggested).toBe(true);
    expect((await worker.next('turn')).continueAsNewSuggested).toBe(true);
  });

  it('is not theirs to begin while the run waits for anything else', async () => {
    await worker.turn(step(1), step(2));
    expect((await worker.next('step')).next).toBeUndefined();
    expect((await worker.next('step')).next).toBeUndefined();
    run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [] });
    await worker.turn(timer(1, 60_000), step(1));
    expect((await worker.next('step')).next).toBeUndefined();
  });

  it('was begun in vain when a signal came first: the worker forgets the run and sees all of it again', async () => {
    await worker.turn(step(1));
    const task = await worker.next('step');
    await engine.signal(run, 'hello', []);
    const signalled = await worker.next('turn');
    worker.completeTurn(begin(task), [complete('"without the signal"')]);
    expect((await worker.next('forget')).runId).toBe(run.runId);
    worker.say({ kind: 'turnMissed', turnId: signalled.turnId, runId: run.runId });
    expect((await worker.turn(timer(1, 60_000))).events[0]!.id).toBe(1);
    await worker.turn(step(2));
    // It may happen to this run again.
    const next = await worker.next('step');
    expect(next.next).toBeUndefined();
    worker.completeStep(next);
    await worker.turn(complete('"with the signal"'));
    expect(await closed()).toMatchObject({ output: '"with the signal"' });
  });

  it('was begun in vain when a signal came in the same moment, of which no turn knows yet', async () => {
    await worker.turn(step(1));
    const task = await worker.next('step');
    const signal = engine.signal(run, 'hello', []);
    worker.completeTurn(begin(task), [complete('"without the signal"')]);
    await signal;
    expect((await worker.next('forget')).runId).toBe(run.runId);
    const turn = await worker.turn(complete('"with the signal"'));
    expect(turn.events.map(({ type }) => type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
    expect(await closed()).toMatchObject({ output: '"with the signal"' });
  });

  it.each([
    ['before the step was scheduled', -1],
    ['that is still to come', 60_000],
  ])('was begun in vain at a time %s', async (_what, offsetMs) => {
    await worker.turn(step(1));
    worker.completeTurn(begin(await worker.next('step'), clock.ms + offsetMs), [complete('"too early"')]);
    await worker.next('forget');
    expect((await worker.turn(complete())).events[0]!.id).toBe(1);
    expect(await closed()).toMatchObject({ output: '"done"' });
  });

  it('was begun in vain by a worker that is about to go', async () => {
    await worker.turn(step(1));
    const task = await worker.next('step');
    worker.say({ kind: 'draining' });
    worker.completeTurn(begin(task), [complete('"by who is going"')]);
    expect((await worker.next('forget')).runId).toBe(run.runId);
    await new ScriptedWorker(engine).turn(complete());
    expect(await closed()).toMatchObject({ output: '"done"' });
  });

  it('was begun in vain after an attempt that is over', async () => {
    await worker.turn(step(1, 'work', { startToCloseTimeoutMs: 1_000 }));
    const late = await worker.next('step');
    worker.failStep(late);
    worker.completeTurn(begin(late), [complete('"of nothing"')]);
    expect((await worker.next('forget')).runId).toBe(run.runId);
    expect((await engine.describe(run)).status).toBe('running');
  });

  it('is given to another worker when the one that began it is lost, and the step does not run again', async () => {
    await worker.turn(step(1));
    begin(await worker.next('step'));
    const other = new ScriptedWorker(engine);
    worker.lose();
    expect((await other.turn(complete())).events.map((event) => event.id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await closed()).toMatchObject({ status: 'completed' });
    expect(other.pending('step')).toEqual([]);
  });

  it('is none when the result of the step has filled the history: the run has failed, and nothing follows', async () => {
    await engine.close();
    engine = folder.open({ clock, limits: { historyEvents: 7 } });
    worker = new ScriptedWorker(engine);
    await worker.turn(step(1));
    worker.completeTurn(begin(await worker.next('step')), [complete('"too late"')]);
    expect(await closed()).toMatchObject({ status: 'failed', failure: { type: 'LimitExceededError' } });
    await engine.recordTrace(run, {});
    expect((await history()).at(-1)!.type).toBe('WORKFLOW_EXECUTION_FAILED');
    expect(engine.load()).toMatchObject({ turnsUnderWay: 0, runsInMemory: 0 });
  });

  it('is asked for as a whole when the worker has lost the run after all', async () => {
    await worker.turn(step(1));
    const { turnId, runId } = begin(await worker.next('step'));
    worker.say({ kind: 'turnMissed', turnId, runId });
    expect(await worker.turn(complete())).toMatchObject({ turnId, events: { length: 8 } });
    expect(await closed()).toMatchObject({ status: 'completed' });
  });
});
