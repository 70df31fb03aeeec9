/** Budgets on a cluster, when those who look after them are gone at the wrong moment. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { RunRef } from '../../src/engine.js';
import { pauseStep } from '../../src/temporal/acting/pausing.js';
import { Cluster } from '../../src/temporal/cluster/connection.js';
import { PURSE, PURSE_WORKFLOW_TYPE } from '../../src/temporal/cluster/conventions.js';
import { woken } from '../../src/temporal/kept/purse.js';
import { dropPurse, purseIdIn, readPurse, tellPurse } from '../../src/temporal/kept/purses.js';
import { Runs } from '../../src/temporal/reading/runs.js';
import { toPayloads } from '../../src/temporal/translate/payload.js';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

/** Of Temporal's PendingActivityState enum that a paused one has which no worker has. */
const PAUSED = 4;
/** As many steps are under way at most. */
const STEP_SLOTS = 20;

const WORKFLOW = `
import { CancellationScope, condition, defineSignal, setHandler, step, stepContext, workflow } from 'perdure';
const payLater = step({
  name: 'payLater',
  options: { retry: { initialInterval: '20s' } },
  fn: async () => { if (stepContext().attempt === 1) throw new Error('not now'); },
});
export const paysLater = workflow({ name: 'paysLater', fn: () => payLater() });
const pay = step({ name: 'pay', fn: async () => { stepContext().cost({ amount: '1' }); return 1; } });
export const pays = workflow({ name: 'pays', fn: async (times) => {
  for (let at = 0; at < times; at++) await pay();
  return times;
} });
export const crowd = workflow({ name: 'crowd', fn: async ({ children, times }) => {
  await Promise.all(Array.from({ length: children }, () => pays(times)));
} });
const payOnce = step({
  name: 'payOnce',
  options: { startToCloseTimeout: '4s', retry: { maximumAttempts: 1 } },
  fn: async () => { stepContext().cost({ amount: '1' }); },
});
const payAtSecondTry = step({
  name: 'payAtSecondTry',
  options: { retry: { maximumAttempts: 2, initialInterval: '100ms' } },
  // The one before it is that which is held back.
  fn: async () => { if (stepContext().attempt === 2) throw new Error('not now'); },
});
export const paysWhenTold = workflow({ name: 'paysWhenTold', fn: async () => {
  let isTold = false;
  setHandler(defineSignal('pay'), () => { isTold = true; });
  await condition(() => isTold);
  await payOnce();
  await payOnce();
  await payAtSecondTry();
} });
const [paySilently, payQuickly] = [{ heartbeatTimeout: '300ms' }, { startToCloseTimeout: '1s' }].map((times, at) => step({
  name: 'payInTime' + at,
  options: { ...times, retry: { maximumAttempts: 1 } },
  fn: async () => { stepContext().cost({ amount: '1' }); },
}));
export const paysInTime = workflow({ name: 'paysInTime', fn: async (isQuick) => {
  let isTold = false;
  setHandler(defineSignal('pay'), () => { isTold = true; });
  await condition(() => isTold);
  const pays = isQuick ? payQuickly : paySilently;
  await pays();
  await pays();
} });
const paysInAnyCase = workflow({ name: 'paysInAnyCase', fn: () => CancellationScope.nonCancellable(async () => {
  await pay();
  await pay();
}) });
export const parent = workflow({ name: 'parent', fn: (childId) => paysInAnyCase(null, { workflowId: childId }) });
export { paysInAnyCase };
`;

describeTemporal('a budget on a cluster', { timeout: 120_000 }, () => {
  let deployed: Deployed;
  let cluster: Cluster;
  beforeAll(async () => {
    deployed = await Deployed.start({
      files: { 'flow/workflow.js': WORKFLOW },
      workers: { slots: { steps: STEP_SLOTS } },
    });
    const { address, namespace } = deployed.server;
    cluster = await Cluster.open({ address, namespace });
  });
  afterAll(async () => {
    await cluster?.close();
    await deployed?.stop();
  });

  async function pausedByBudget(times = 2): Promise<RunRef> {
    const budget = { amount: '1', currency: 'USD' };
    const { catalog, engine } = deployed;
    const run = await engine.start({ workflowType: 'pays', catalog, input: [String(times)], budget });
    await heldBack(run, 1);
    return run;
  }

  async function heldBack(run: RunRef, paid: number): Promise<void> {
    const look = async () => {
      expect((await deployed.engine.describe(run)).paused?.by).toBe('budget');
      // From now on nobody looks after it by himself.
      expect((await new Runs(cluster).look(run)).pendingSteps).toMatchObject([
        { paused: true, state: PAUSED, activityId: String(paid + 1) },
      ]);
    };
    await vi.waitFor(look, { timeout: 60_000, interval: 200 });
  }

  test('that was raised by a server which died right after wakes those who wait all the same', async () => {
    const run = await pausedByBudget();
    // What such a server has done: it has told the purse, and nobody else.
    const purseId = purseIdIn((await new Runs(cluster).look(run)).memo)!;
    await tellPurse(cluster, purseId, PURSE.set, { amount: '5' }, 'raised');
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed', output: '2' });
    expect((await deployed.engine.cost(run, 'run', () => {})).budget).toMatchObject({
      ...{ amount: '5', spent: '2', isExceeded: false },
    });
  });

  test('that was raised by a slow server wakes a run that had gone on and waits again', async () => {
    const run = await pausedByBudget(3);
    const { engine } = deployed;
    const purseId = purseIdIn((await new Runs(cluster).look(run)).memo)!;
    // What such a server has done when the others that waited have kept it busy: it has told the purse last.
    const { waiting } = (await readPurse(cluster, purseId))!;
    await tellPurse(cluster, purseId, PURSE.set, { amount: '2' }, 'raised slowly');
    await engine.resume(run);
    await heldBack(run, 2);
    await tellPurse(cluster, purseId, PURSE.woken, woken(waiting), 'woken slowly');
    await engine.setBudget(run, '5');
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed', output: '3' });
  });

  test('that is raised lets a step go on that was held back as its run was let go on for another', async () => {
    const { catalog, engine } = deployed;
    const budget = { amount: '1', currency: 'USD' };
    const run = await engine.start({ workflowType: 'paysLater', catalog, input: [], budget });
    const pending = (what: object) => async () =>
      expect((await new Runs(cluster).look(run)).pendingSteps).toMatchObject([what]);
    await vi.waitFor(pending({ attempt: 2 }), { timeout: 60_000, interval: 50 });
    // What its worker has done that saw the run still paused: it has paused the step and not the run.
    const purseId = purseIdIn((await new Runs(cluster).look(run)).memo)!;
    await tellPurse(cluster, purseId, PURSE.waits, run, 'waits');
    await pauseStep(cluster, run, '1');
    await vi.waitFor(pending({ paused: true }), { timeout: 60_000, interval: 50 });
    await engine.setBudget(run, '2');
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed' });
  });

  test('does not keep a child from cleaning up whose parent has ended', async () => {
    const { catalog, engine } = deployed;
    const child = { workflowId: 'child' };
    const budget = { amount: '1', currency: 'USD' };
    const parent = await engine.start({ workflowType: 'parent', catalog, input: ['"child"'], budget });
    const isHeldBack = async () =>
      expect((await new Runs(cluster).look(child)).pendingSteps).toMatchObject([
        { paused: true, state: PAUSED },
      ]);
    await vi.waitFor(isHeldBack, { timeout: 60_000, interval: 200 });
    await engine.terminate(parent, 'by the test');
    const hasEnded = async () => expect((await engine.describe(child)).status).toBe('completed');
    await vi.waitFor(hasEnded, { timeout: 60_000, interval: 200 });
  });

  test('is known, and can be raised, while no worker is there', async () => {
    const run = await pausedByBudget();
    await deployed.workers.stop(100);
    const { engine } = deployed;
    const met = { amount: '1', currency: 'USD', spent: '1', isExceeded: true, overshoot: '0' };
    expect((await engine.cost(run, 'run', () => {})).budget).toEqual(met);
    expect((await engine.setBudget(run, '3')).budget).toMatchObject({ amount: '3', isExceeded: false });
    await deployed.startWorkers();
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed', output: '2' });
  });

  /** Of a queue that somebody has polled lately the cluster expects an answer, and whoever asks waits for it in vain. */
  async function polledLately(name: string): Promise<void> {
    const { namespace, identity } = cluster;
    const poll = cluster.call(
      (service) => service.pollWorkflowTaskQueue({ namespace, identity, taskQueue: { name } }),
      { timeoutMs: 500, isPoll: true },
    );
    await Promise.allSettled([poll]);
  }

  async function startWithoutAnswers(workflowType: string, input: string[] = []): Promise<RunRef> {
    const { catalog, engine } = deployed;
    const queue = `polled by nobody any more, ${workflowType} ${input}`;
    await polledLately(queue);
    const budget = { amount: '1', currency: 'USD' };
    const run = await engine.start({ workflowType, catalog, input, budget });
    const purseId = purseIdIn((await new Runs(cluster).look(run)).memo)!;
    // As that of a parent whose catalog has no workers at the moment.
    await dropPurse(cluster, purseId);
    const { namespace, identity } = cluster;
    const purse = { ...budget, spent: '0', root: run.workflowId, waiting: [] };
    await cluster.call((service) =>
      service.startWorkflowExecution({
        ...{ namespace, identity, workflowId: purseId, requestId: purseId },
        workflowType: { name: PURSE_WORKFLOW_TYPE },
        taskQueue: { name: queue },
        input: toPayloads([JSON.stringify(purse)]),
      }),
    );
    await engine.signal(run, 'pay', []);
    return run;
  }

  test('holds though nobody answers for it, and costs no step an attempt', async () => {
    const { engine } = deployed;
    const run = await startWithoutAnswers('paysWhenTold');
    await heldBack(run, 1);
    expect((await engine.cost(run, 'run', () => {})).budget).toMatchObject({ spent: '1', isExceeded: true });
    await engine.setBudget(run, '2');
    await heldBack(run, 2);
    await engine.setBudget(run, '5');
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed' });
  });

  test.each([
    ['a step that may be silent for a moment only', 'false'],
    ['a step that has a second', 'true'],
  ])('that nobody answers for is waited for by %s, which takes it no attempt', async (_, isQuick) => {
    const { engine } = deployed;
    const run = await startWithoutAnswers('paysInTime', [isQuick]);
    await heldBack(run, 1);
    await engine.setBudget(run, '5');
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed' });
    expect((await engine.cost(run, 'run', () => {})).budget).toMatchObject({ spent: '2' });
  });

  test('of a crowd is overspent by no more than was under way, and is answered for at once when it is raised', async () => {
    const { catalog, engine } = deployed;
    const [children, times] = [40, 2];
    const budget = { amount: '20', currency: 'USD' };
    const input = [JSON.stringify({ children, times })];
    const run = await engine.start({ workflowType: 'crowd', catalog, input, budget });
    const purseId = purseIdIn((await new Runs(cluster).look(run)).memo)!;
    const allWaitOrAreDone = async () => {
      let done = 0;
      await engine.cost(run, 'tree', ({ records }) => (done += Number(records.length === times)));
      expect((await readPurse(cluster, purseId))!.waiting.length + done).toBe(children);
    };
    await vi.waitFor(allWaitOrAreDone, { timeout: 90_000, interval: 500 });
    const met = (await engine.cost(run, 'run', () => {})).budget!;
    expect(Number(met.spent)).toBeGreaterThanOrEqual(20);
    expect(Number(met.overshoot)).toBeLessThanOrEqual(STEP_SLOTS);

    const call = vi.spyOn(Cluster.prototype, 'call');
    const { budget: raised } = await engine.setBudget(run, '1000');
    const calls = call.mock.calls.length;
    vi.restoreAllMocks();
    expect(raised).toMatchObject({ amount: '1000', isExceeded: false });
    // However many wait.
    expect(calls).toBeLessThan(10);
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed' });
    const paid: string[] = [];
    const end = await engine.cost(run, 'tree', ({ runId, records }) =>
      paid.push(...records.map(({ activityId }) => `${runId}/${activityId}`)),
    );
    expect(end.budget).toMatchObject({ spent: String(children * times) });
    // No step has run twice.
    expect([paid.length, new Set(paid).size]).toEqual([children * times, children * times]);
  });

  test('that has closed since its run had ended holds again, with all that was spent, when the run is reset', async () => {
    const { catalog, engine } = deployed;
    const budget = { amount: '3', currency: 'USD' };
    const ended = await engine.start({ workflowType: 'pays', catalog, input: ['2'], budget });
    await deployed.outcome(ended);
    // As a purse does by itself when nobody has been there for a day.
    await dropPurse(cluster, purseIdIn((await new Runs(cluster).look(ended)).memo)!);
    const run = await engine.reset(ended, { toStart: true });
    const look = async () => expect((await engine.describe(run)).paused?.by).toBe('budget');
    await vi.waitFor(look, { timeout: 60_000, interval: 200 });
    const budgetOf = async () => (await engine.cost(run, 'run', () => {})).budget;
    expect(await budgetOf()).toMatchObject({ amount: '3', spent: '3', isExceeded: true });
    await engine.setBudget(run, '5');
    expect(await deployed.outcome(run)).toMatchObject({ status: 'completed', output: '2' });
    expect(await budgetOf()).toMatchObject({ amount: '5', spent: '4', isExceeded: false });
  });
});
