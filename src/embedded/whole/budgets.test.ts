/** Budgets: no step is handed out once one is met, whoever of the tree has spent it, and raising it goes on where it was. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Cost } from '../../core/cost/cost.js';
import { DEFAULT_STEP_RETRY } from '../../core/run/retry.js';
import type { StepTask } from '../../core/task.js';
import type { RunRef, RunSelector } from '../../engine.js';
import type { EmbeddedEngine } from '../index.js';
import {
  CATALOG,
  child,
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
beforeEach(() => {
  folder = new Folder();
  clock = new HandClock();
  engine = folder.open({ clock });
  worker = new ScriptedWorker(engine);
});
afterEach(() => folder.remove());

async function start(amount: string, currency = 'USD'): Promise<void> {
  const budget = { amount, currency };
  run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'a', budget });
}

const cost = (amount: string, currency = 'USD'): Cost => ({
  kind: 'llm',
  label: null,
  currency,
  amount,
  usage: {},
});
const attemptOf = ({ runId, scheduledEventId, attempt }: StepTask) => ({ runId, scheduledEventId, attempt });

function completes(task: StepTask, amount: string, currency?: string, by = worker): void {
  by.say({ kind: 'stepCompleted', result: '1', ...attemptOf(task), costs: [cost(amount, currency)] });
}

const budgetOf = async (selector: RunSelector = run, from = engine) =>
  (await from.cost(selector, 'run', () => {})).budget;

/** The run has taken that it is paused, and nothing of it waits to be taken. */
async function paused(selector: RunSelector = run, by = worker, from = engine): Promise<void> {
  const turn = await by.next('turn');
  expect(turn.events.at(-2)).toMatchObject({ attributes: { signalName: 'perdure.pause' } });
  by.completeTurn(turn, []);
  from.flush();
  expect(await from.describe(selector)).toMatchObject({ paused: { by: 'budget' } });
  expect(by.pending('step')).toEqual([]);
}

const resumed = async (by = worker) =>
  expect((await by.turn()).events.at(-2)).toMatchObject({ attributes: { signalName: 'perdure.resume' } });

describe('a run that has met its budget', () => {
  it('is paused before its next step, says why, and goes on when that is raised', async () => {
    await start('1');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1.25');
    await worker.turn(step(2));
    await paused();
    expect(await budgetOf()).toEqual({
      amount: '1',
      currency: 'USD',
      spent: '1.25',
      isExceeded: true,
      overshoot: '0.25',
    });
    const { reasons, isStuck } = await engine.why(run);
    expect(isStuck).toBe(true);
    expect(reasons[0]).toMatchObject({ code: 'paused', by: 'budget' });
    expect(reasons[0]!.message).toContain('1.25 of 1 USD');
    expect(reasons[0]!.action).toContain(`/workflow/a/runs/${run.runId}/budget`);

    // Not enough yet.
    expect((await engine.setBudget(run, '1.25')).budget.isExceeded).toBe(true);
    expect(await engine.describe(run)).toMatchObject({ paused: { by: 'budget' } });

    expect(await engine.setBudget(run, '1.5')).toEqual({
      ...run,
      budget: { amount: '1.5', currency: 'USD', spent: '1.25', isExceeded: false, overshoot: '0' },
    });
    const second = await worker.next('step');
    expect(second).toMatchObject({ scheduledEventId: expect.any(Number), attempt: 1 });
    await resumed();
    completes(second, '0.1');
    await worker.turn(complete());
    engine.flush();
    expect(await engine.describe(run)).toMatchObject({ status: 'completed' });
    expect(await budgetOf()).toMatchObject({ spent: '1.35', isExceeded: false });
  });

  it('is the same when it leaves memory while its budget is raised', async () => {
    const crowded = new Folder();
    engine = crowded.open({ clock, limits: { cachedRuns: 0 } });
    worker = new ScriptedWorker(engine);
    await start('1');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1');
    await worker.turn(step(2));
    const turn = await worker.next('turn');
    worker.completeTurn(turn, []);
    // What the run was paused by is not on disk yet, and the run is quiet as soon as it is.
    await engine.setBudget(run, '2');
    const second = await worker.next('step');
    await resumed();
    expect(await engine.describe(run)).not.toHaveProperty('paused');
    completes(second, '0.5');
    await worker.turn(complete());
    engine.flush();
    expect(await engine.describe(run)).toMatchObject({ status: 'completed' });
    expect(await budgetOf()).toMatchObject({ amount: '2', spent: '1.5' });
    await crowded.remove();
  });

  it('of nothing starts no step at all', async () => {
    await start('0');
    await worker.turn(step(1));
    await paused();
    await engine.setBudget(run, '0.000000001');
    expect(await worker.next('step')).toMatchObject({ attempt: 1 });
  });

  it('ends without being stopped when it needs no further step', async () => {
    await start('1');
    await worker.turn(step(1));
    completes(await worker.next('step'), '5');
    await worker.turn(complete());
    engine.flush();
    expect(await engine.describe(run)).toMatchObject({ status: 'completed' });
    await expect(engine.setBudget(run, '10')).rejects.toThrow(/closed/);
  });

  it('does not try a step again', async () => {
    await start('1');
    const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 1_000 };
    await worker.turn(step(1, 'work', { retry }));
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    const first = await worker.next('step');
    worker.say({ kind: 'stepFailed', failure, ...attemptOf(first), costs: [cost('1')] });
    engine.flush();
    clock.pass(1_000);
    await paused();
    await engine.setBudget(run, '2');
    expect(await worker.next('step')).toMatchObject({ attempt: 2, idempotencyKey: first.idempotencyKey });
  });

  it('counts what a step under way has said, and lets that step end', async () => {
    await start('1');
    await worker.turn(step(1), timer(1, 1_000));
    const long = await worker.next('step');
    worker.say({ kind: 'stepCosts', ...attemptOf(long), costs: [cost('1')] });
    engine.flush();
    clock.pass(1_000);
    await worker.turn(step(2));
    await paused();
    completes(long, '0.5');
    engine.flush();
    expect(await budgetOf()).toMatchObject({ spent: '1.5', overshoot: '0.5' });
  });

  it('cleans up when it is asked to stop, whatever that costs', async () => {
    await start('1');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1');
    await worker.turn(step(2));
    await paused();
    await engine.cancel(run);
    await worker.turn(step(3));
    // Both the step that waited, which it still wants, and what the code does about it.
    const cleanup = [await worker.next('step'), await worker.next('step')];
    expect(cleanup.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual([
      `${run.runId}/2`,
      `${run.runId}/3`,
    ]);
  });

  it('goes on with what it still wants when it leaves memory before it learns that it was asked to stop', async () => {
    const crowded = new Folder();
    engine = crowded.open({ clock, limits: { cachedRuns: 0 } });
    worker = new ScriptedWorker(engine);
    await start('0');
    await worker.turn(step(1), step(2));
    await paused();
    worker.lose();
    await engine.cancel(run);
    engine.flush();
    worker = new ScriptedWorker(engine);
    await worker.turn();
    const wanted = [await worker.next('step'), await worker.next('step')];
    expect(wanted.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual([
      `${run.runId}/1`,
      `${run.runId}/2`,
    ]);
    await crowded.remove();
  });

  it.each(['at rest', 'while a turn is made'])(
    'begins no step that it no longer wants when it is asked to stop %s',
    async (when) => {
      await start('1');
      await worker.turn(step(1));
      completes(await worker.next('step'), '1');
      await worker.turn(step(2), step(3));
      await paused();
      if (when === 'at rest') {
        await engine.cancel(run);
      } else {
        await engine.signal(run, 'hello', []);
        const turn = await worker.next('turn');
        await engine.cancel(run);
        worker.completeTurn(turn, []);
      }
      engine.flush();
      expect(worker.pending('step')).toEqual([]);
      await worker.turn({ kind: 'cancelStep', activityId: '2' });
      expect(await worker.next('step')).toMatchObject({ idempotencyKey: `${run.runId}/3` });
      engine.flush();
      expect(worker.pending('step')).toEqual([]);
    },
  );

  it('counts its own currency alone', async () => {
    await start('1', 'EUR');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1000', 'USD');
    await worker.turn(step(2));
    completes(await worker.next('step'), '1', 'EUR');
    await worker.turn(step(3));
    await paused();
    expect((await engine.why(run)).reasons[0]!.message).toContain('only what is spent in EUR counts');
    expect(await budgetOf()).toMatchObject({ spent: '1', currency: 'EUR' });
  });

  it('counts what is said in its currency behind what is said in another', async () => {
    await start('1', 'EUR');
    await worker.turn(step(1));
    const costs = [cost('1000', 'USD'), cost('1', 'EUR')];
    const task = await worker.next('step');
    worker.say({ kind: 'stepCompleted', result: '1', ...attemptOf(task), costs });
    await worker.turn(step(2));
    await paused();
    expect(await budgetOf()).toMatchObject({ spent: '1', currency: 'EUR' });
  });

  it('has one when it is given none, and says so', async () => {
    run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'free' });
    await expect(engine.setBudget(run, '1')).rejects.toMatchObject({
      name: 'ValidationError',
      details: { issues: [{ path: ['amount'], code: 'no_budget' }] },
    });
    expect(await budgetOf()).toBeNull();
  });
});

describe('one purse', () => {
  it('is for all runs of a chain', async () => {
    await start('3');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1');
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: [] });
    await worker.turn(step(1));
    completes(await worker.next('step'), '1');
    await worker.turn(step(2, 'more'));
    completes(await worker.next('step'), '1');
    const latest = { workflowId: 'a' };
    // What was spent stays spent, also in the part that a reset cuts off.
    const turn = await worker.next('turn');
    run = await engine.reset(latest, { stepName: 'work' });
    worker.completeTurn(turn, []);
    await worker.turn(step(2, 'more'));
    await paused();
    expect(await budgetOf()).toMatchObject({ spent: '3', isExceeded: true });
  });

  it('has what a child has spent whose end has come just before', async () => {
    const inPieces = new Folder();
    engine = inPieces.open({ clock, limits: { childrenEndedAtOnce: 0 } });
    worker = new ScriptedWorker(engine);
    await start('10');
    await worker.turn(child(1, 'b', 'TERMINATE'));
    for (const turn of [await worker.next('turn'), await worker.next('turn')])
      worker.completeTurn(turn, turn.workflowId === 'b' ? [step(1)] : []);
    const task = await worker.next('step');
    const end = engine.terminate(run, 'enough');
    completes(task, '2');
    await end;
    engine.flush();
    expect((await engine.describe({ workflowId: 'b' })).status).toBe('terminated');
    expect(await budgetOf()).toMatchObject({ spent: '2' });
    await inPieces.remove();
  });

  it('is for a whole tree, and is spent once', async () => {
    await start('2');
    await worker.turn(...['b', 'c', 'd'].map((id, at) => child(at + 1, id)));
    const tasks: StepTask[] = [];
    while (tasks.length < 3) {
      const turn = await worker.next('turn');
      worker.completeTurn(turn, turn.workflowId === 'a' ? [] : [step(1)]);
      if (turn.workflowId !== 'a') tasks.push(await worker.next('step'));
    }
    // Two at once spend all there is; the third was under way, and no further one starts.
    for (const task of tasks) completes(task, '1');
    for (let asked = 0; asked < 3; ) {
      const turn = await worker.next('turn');
      const isDone = turn.events.some(({ type }) => type === 'ACTIVITY_TASK_COMPLETED');
      worker.completeTurn(turn, isDone ? [step(2)] : []);
      if (isDone) asked++;
    }
    for (let held = 0; held < 3; ) {
      const turn = await worker.next('turn');
      if (turn.events.some(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED')) held++;
      worker.completeTurn(turn, []);
    }
    engine.flush();
    expect(worker.pending('step')).toEqual([]);
    for (const workflowId of ['b', 'c', 'd']) {
      expect(await engine.describe({ workflowId })).toMatchObject({ paused: { by: 'budget' } });
      expect(await budgetOf({ workflowId })).toMatchObject({ spent: '3', overshoot: '1' });
    }
    // Raised by any of them, all go on.
    const kid = await engine.describe({ workflowId: 'c' });
    await engine.setBudget(kid, '10');
    const again = [await worker.next('step'), await worker.next('step'), await worker.next('step')];
    expect(new Set(again.map(({ runId }) => runId)).size).toBe(3);
    expect(await budgetOf()).toMatchObject({ amount: '10', isExceeded: false });
  });

  it('is on disk with its run and not before, also where the start waits for what follows from it', async () => {
    await engine.close();
    let runId = '';
    const commits: { hasPurse: boolean; hasRun: boolean }[] = [];
    engine = folder.open({
      clock,
      inspectCommit: (tables) =>
        commits.push({
          hasPurse: tables.purses.of(runId) !== undefined,
          hasRun: tables.runs.byId(runId) !== undefined,
        }),
    });
    const budget = { amount: '1', currency: 'USD' };
    const request = { workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'b' };
    ({ runId } = await engine.start({ ...request, budget, isAwaited: true }));
    await expect.poll(() => commits.at(-1)?.hasRun).toBe(true);
    for (const { hasPurse, hasRun } of commits) expect(hasPurse).toBe(hasRun);
  });

  it('survives a kill with what was spent and what it was raised to', async () => {
    await start('1');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1');
    await worker.turn(step(2));
    await paused();
    const killed = folder.asKilled();
    const after = killed.open({ clock });
    const another = new ScriptedWorker(after);
    expect(await budgetOf(run, after)).toMatchObject({ spent: '1', isExceeded: true });
    expect(await after.describe(run)).toMatchObject({ paused: { by: 'budget' } });
    await after.setBudget(run, '2');
    expect(await budgetOf(run, after)).toMatchObject({ amount: '2', isExceeded: false });
    expect(await another.next('step')).toMatchObject({ attempt: 1 });
    await killed.remove();
  });

  it('hears of what was said before a step or its run had closed, however late', async () => {
    await start('10');
    const only = { retry: { ...DEFAULT_STEP_RETRY, maximumAttempts: 1 }, startToCloseTimeoutMs: 1_000 };
    await worker.turn(step(1, 'work', only), step(2));
    const [first, second] = [await worker.next('step'), await worker.next('step')];
    clock.pass(1_000);
    await worker.next('stopStep');
    worker.say({ kind: 'stepCosts', ...attemptOf(first), costs: [cost('1')] });
    engine.flush();
    expect(await budgetOf()).toMatchObject({ spent: '1' });
    await engine.terminate(run, 'enough');
    worker.say({ kind: 'stepCosts', ...attemptOf(second), costs: [cost('4')] });
    completes(second, '2');
    engine.flush();
    expect(await budgetOf()).toMatchObject({ spent: '7' });
    expect(await engine.describe(run)).toMatchObject({ status: 'terminated' });
    const killed = folder.asKilled();
    expect(await budgetOf(run, killed.open({ clock }))).toMatchObject({ spent: '7' });
    await killed.remove();
  });

  it('hears once of an answer that comes twice', async () => {
    await start('10');
    await worker.turn(step(1), step(2));
    const [first, second] = [await worker.next('step'), await worker.next('step')];
    completes(first, '1');
    completes(first, '1');
    engine.flush();
    expect(await budgetOf()).toMatchObject({ spent: '1' });
    await engine.terminate(run, 'enough');
    completes(second, '2');
    completes(second, '2');
    engine.flush();
    expect(await budgetOf()).toMatchObject({ spent: '3' });
  });

  it('is removed with the last run of its tree, and not before', async () => {
    const soon = new Folder();
    const removing = soon.open({ limits: { retentionMs: 30, retentionBatch: 1 } });
    const by = new ScriptedWorker(removing);
    const budget = { amount: '1', currency: 'USD' };
    await removing.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'a', budget });
    await by.turn(child(1, 'kid', 'ABANDON'));
    const turns = [await by.next('turn'), await by.next('turn')];
    for (const turn of turns) by.completeTurn(turn, [turn.workflowId === 'kid' ? step(1) : complete()]);
    const task = await by.next('step');
    const isGone = async (workflowId: string) => {
      for (const end = Date.now() + 10_000; Date.now() < end; ) {
        if ((await removing.describe({ workflowId }).catch(() => true as const)) === true) return true;
        await new Promise((resolve) => setImmediate(resolve));
      }
      return false;
    };
    // The parent leaves long before its child has ended.
    expect(await isGone('a')).toBe(true);
    expect(await budgetOf({ workflowId: 'kid' }, removing)).toMatchObject({ amount: '1', spent: '0' });
    completes(task, '1', 'USD', by);
    await by.turn(step(2));
    await paused({ workflowId: 'kid' }, by, removing);
    expect(await budgetOf({ workflowId: 'kid' }, removing)).toMatchObject({ spent: '1', isExceeded: true });
    await removing.terminate({ workflowId: 'kid' }, 'enough');
    expect(await isGone('kid')).toBe(true);
    await removing.close();
    const db = new Database(join(soon.path, 'perdure.db'));
    expect(db.prepare('SELECT tree FROM purses').all()).toEqual([]);
    db.close();
    await soon.remove();
  });

  it('is filled for the whole tree also by way of a descendant', async () => {
    await start('0');
    await worker.turn(child(1, 'b'), step(1));
    for (let isHeld = false; !isHeld; ) {
      const turn = await worker.next('turn');
      isHeld = turn.events.some(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED');
      worker.completeTurn(turn, []);
    }
    await engine.setBudget({ workflowId: 'b' }, '10');
    await expect
      .poll(() => worker.pending('step'), { timeout: 10_000 })
      .toMatchObject([{ runId: run.runId }]);
  });

  it('leaves the pause of an operator alone', async () => {
    await start('1');
    await worker.turn(step(1));
    completes(await worker.next('step'), '1');
    await worker.turn(step(2));
    await paused();
    await engine.pause(run, { reason: 'lunch', by: 'operator' });
    await engine.setBudget(run, '2');
    expect(await engine.describe(run)).toMatchObject({ paused: { by: 'operator', reason: 'lunch' } });
    expect(worker.pending('step')).toEqual([]);
  });
});
