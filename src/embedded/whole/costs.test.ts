/** What steps have spent: kept with their attempts whatever becomes of those, on disk before anybody is told, and counted once. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Cost } from '../../core/cost/cost.js';
import { type CostScope, type RunCosts, sumOf } from '../../core/cost/sums.js';
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

const usd = (amount: string): Cost => ({
  kind: 'llm',
  label: null,
  currency: 'USD',
  amount,
  usage: { tokens: 1 },
});
const attemptOf = ({ runId, scheduledEventId, attempt }: StepTask) => ({ runId, scheduledEventId, attempt });

const says = (task: StepTask, ...amounts: string[]) =>
  worker.say({ kind: 'stepCosts', ...attemptOf(task), costs: amounts.map(usd) });
const completes = (task: StepTask, ...amounts: string[]) =>
  worker.say({ kind: 'stepCompleted', result: '1', ...attemptOf(task), costs: amounts.map(usd) });
const fails = (task: StepTask, ...amounts: string[]) => {
  const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
  worker.say({ kind: 'stepFailed', failure, ...attemptOf(task), costs: amounts.map(usd) });
};

async function costsOf(selector: RunSelector, scope: CostScope, from = engine): Promise<RunCosts[]> {
  const runs: RunCosts[] = [];
  await from.cost(selector, scope, (each) => runs.push(each));
  return runs;
}

async function spent(scope: CostScope = 'run', selector: RunSelector = run, from = engine): Promise<string> {
  // All that was said before this is on disk when it is answered.
  from.flush();
  const runs = await costsOf(selector, scope, from);
  return (
    sumOf(runs.flatMap(({ records }) => records))
      .totals.map(({ amount }) => amount)
      .join() || '0'
  );
}

async function begin(settings = {}): Promise<StepTask> {
  await worker.turn(step(1, 'work', settings));
  return worker.next('step');
}

const retry = { ...DEFAULT_STEP_RETRY, initialIntervalMs: 10, maximumAttempts: 3 };

describe('what a step has spent', () => {
  it('is in its outcome, with where and when it was said', async () => {
    completes(await begin(), '0.1', '0.2');
    await worker.turn(complete());
    expect(await spent()).toBe('0.3');
    const runs = await costsOf(run, 'run');
    expect(runs).toEqual([
      {
        ...run,
        workflowType: 'flow',
        records: ['0.1', '0.2'].map((amount) => ({
          ...usd(amount),
          ...{ at: clock.now(), stepName: 'work', activityId: '1', attempt: 1 },
        })),
      },
    ]);
  });

  it('is seen while the step runs, and counts once when it has ended', async () => {
    const task = await begin();
    says(task, '1');
    expect(await spent()).toBe('1');
    says(task, '0.5');
    expect(await spent()).toBe('1.5');
    completes(task, '0.25');
    expect(await spent()).toBe('1.75');
    await worker.turn(complete());
    expect(await spent()).toBe('1.75');
  });

  it('counts once while its outcome waits for a turn to end', async () => {
    await worker.turn(step(1), step(2, 'other'));
    const [first, second] = [await worker.next('step'), await worker.next('step')];
    says(second, '2');
    completes(first, '1');
    const turn = await worker.next('turn');
    completes(second, '4');
    expect(await spent()).toBe('7');
    worker.completeTurn(turn, []);
    expect(await spent()).toBe('7');
    await worker.turn(complete());
    expect(await spent()).toBe('7');
  });

  it('is told in the order in which it was said, whatever is done to the clock', async () => {
    const task = await begin();
    says(task, '1');
    clock.offsetMs = -60_000;
    says(task, '2');
    completes(task, '4');
    engine.flush();
    const [{ records }] = (await costsOf(run, 'run')) as [RunCosts];
    expect(records.map(({ amount }) => amount)).toEqual(['1', '2', '4']);
    expect(records.map(({ at }) => at)).toEqual(records.map(({ at }) => at).sort((a, b) => a - b));
  });

  it('is gone from the purse though it is said while the end of its step waits for a turn to end', async () => {
    await worker.turn(complete());
    const budget = { amount: '10', currency: 'USD' };
    run = await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'b', budget });
    const task = await begin({ retry: { ...retry, maximumAttempts: 1 }, startToCloseTimeoutMs: 1_000 });
    says(task, '1');
    await engine.signal(run, 'go', []);
    const turn = await worker.next('turn');
    clock.pass(1_000);
    await worker.next('stopStep');
    says(task, '2');
    completes(task, '4');
    // The event that closes the step is what it was when it came.
    const both = async () => [await spent(), (await engine.cost(run, 'run', () => {})).budget?.spent];
    expect(await both()).toEqual(['1', '7']);
    worker.completeTurn(turn, []);
    expect((await worker.turn(complete())).events.map(({ type }) => type)).toContain(
      'ACTIVITY_TASK_TIMED_OUT',
    );
    expect(await both()).toEqual(['1', '7']);
  });

  it('stays with attempts that fail, time out and are lost', async () => {
    const first = await begin({ retry: { ...retry, maximumAttempts: 0 }, startToCloseTimeoutMs: 5_000 });
    says(first, '1');
    fails(first, '2');
    clock.pass(10);
    const second = await worker.next('step');
    says(second, '4');
    clock.pass(5_000);
    await worker.next('stopStep');
    // It was said before the attempt was over, and comes after that.
    says(second, '32');
    completes(second, '64');
    clock.pass(1_000);
    const third = await worker.next('step');
    says(third, '8');
    expect(await spent()).toBe('111');
    worker.lose();
    worker = new ScriptedWorker(engine);
    const fourth = await worker.next('step');
    expect(fourth.attempt).toBe(4);
    completes(fourth, '16');
    const turn = await worker.turn(complete());
    expect(await spent()).toBe('127');
    const outcome = turn.events.find(({ type }) => type === 'ACTIVITY_TASK_COMPLETED');
    expect(outcome?.attributes).toMatchObject({ costs: { length: 7 } });
    const runs = await costsOf(run, 'run');
    expect(runs[0]?.records.map(({ attempt, amount }) => [attempt, amount])).toEqual([
      [1, '1'],
      [1, '2'],
      [2, '4'],
      [2, '32'],
      [2, '64'],
      [3, '8'],
      [4, '16'],
    ]);
  });

  it('stays with a step that fails for good, and with one that is cancelled while it waits', async () => {
    await worker.turn(step(1, 'one', { retry: { ...retry, maximumAttempts: 1 } }), step(2, 'two', { retry }));
    fails(await worker.next('step'), '1');
    fails(await worker.next('step'), '2');
    await worker.turn({ kind: 'cancelStep', activityId: '2' });
    expect(await spent()).toBe('3');
    await worker.turn(complete());
    expect(await spent()).toBe('3');
  });

  it('stays when its run ends before it', async () => {
    const task = await begin();
    says(task, '5');
    await engine.terminate(run, 'enough');
    completes(task, '1000');
    expect(await spent()).toBe('5');
    const { events } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.at(-1)).toMatchObject({ attributes: { costs: [{ activityId: '1', amount: '5' }] } });
  });

  it('is on disk before it is told, and there after a kill', async () => {
    const task = await begin({ retry });
    says(task, '1');
    expect(await spent()).toBe('1');
    const killed = folder.asKilled();
    const after = killed.open({ clock });
    expect(await spent('run', run, after)).toBe('1');
    const another = new ScriptedWorker(after);
    const second = await another.next('step');
    another.say({ kind: 'stepCompleted', result: '1', ...attemptOf(second), costs: [usd('2')] });
    await another.turn(complete());
    expect(await spent('run', run, after)).toBe('3');
    await killed.remove();
  });
});

describe('a run that spends over and over', () => {
  it('has spent all of it, however many commits that took', async () => {
    const STEPS = 120;
    let task = await begin();
    for (let id = 2; id <= STEPS; id++) {
      completes(task, '1');
      await worker.turn(step(id));
      task = await worker.next('step');
    }
    completes(task, '1');
    expect([await spent('run'), await spent('chain')]).toEqual([String(STEPS), String(STEPS)]);
  });
});

describe('several runs', () => {
  it('of a chain are summed up, each counted once also after a reset', async () => {
    completes(await begin(), '1');
    await worker.turn(step(2, 'more'));
    completes(await worker.next('step'), '2');
    await worker.turn({ kind: 'continueAsNew', workflowType: 'flow', input: [] });
    await worker.turn(step(1, 'work'));
    completes(await worker.next('step'), '4');
    await worker.turn(step(2, 'more'));
    const open = await worker.next('step');
    says(open, '8');
    const latest = { workflowId: 'a' };
    expect([await spent('run'), await spent('run', latest), await spent('chain')]).toEqual(['3', '12', '15']);

    const reset = await engine.reset(latest, { stepName: 'work' });
    await worker.turn(step(2, 'more'));
    completes(await worker.next('step'), '16');
    await worker.turn(complete());
    // The new run has what it took over; over the chain that counts where it was spent.
    expect([await spent('run', reset), await spent('chain', reset), await spent('chain', run)]).toEqual([
      '20',
      '31',
      '31',
    ]);
  });

  it('of a tree are summed up from wherever one looks', async () => {
    await worker.turn(child(1, 'kid'));
    const kid = await worker.next('turn');
    worker.completeTurn(kid, [step(1), child(1, 'grandkid')]);
    completes(await worker.next('step'), '1');
    for (let grandkid = await worker.next('turn'); ; grandkid = await worker.next('turn')) {
      worker.completeTurn(grandkid, grandkid.workflowId === 'grandkid' ? [step(1)] : []);
      if (grandkid.workflowId === 'grandkid') break;
    }
    completes(await worker.next('step'), '2');
    expect(await spent('tree')).toBe('3');
    expect(await spent('chain')).toBe('0');
    expect(await spent('tree', { workflowId: 'kid' })).toBe('3');
    expect(await spent('tree', { workflowId: 'grandkid' })).toBe('2');
    expect(await spent('run', { workflowId: 'kid' })).toBe('1');
  });
});

describe('the bounds', () => {
  it('sum up what a step says that is tried for ever', async () => {
    let task = await begin({ retry: { ...retry, maximumAttempts: 0, initialIntervalMs: 0 } });
    for (let attempt = 0; attempt < 5; attempt++) {
      worker.say({
        kind: 'stepCosts',
        ...attemptOf(task),
        costs: Array.from({ length: 1_000 }, () => usd('0.001')),
      });
      fails(task);
      task = await worker.next('step');
    }
    completes(task);
    await worker.turn(complete());
    expect(await spent()).toBe('5');
    const runs = await costsOf(run, 'run');
    expect(runs[0]!.records.length).toBeLessThanOrEqual(2_000);
    expect(sumOf(runs[0]!.records)).toMatchObject({ totals: [{ amount: '5' }], usage: { tokens: 5_000 } });
  });
});
