/** Many children under one parent's budget: what goes beyond it is what was under way, and they are paid for some at a time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StepTask, ToWorker } from '../../core/task.js';
import type { RunRef } from '../../engine.js';
import { EmbeddedEngine, InMemory } from '../index.js';
import {
  CATALOG,
  child,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
} from '../scripted-worker.fixture.js';

const CHILDREN = 1_000;
/** Each wants as many steps of one unit. */
const STEPS = 2;
const BUDGET = 700;
/** Steps that are scheduled later than this are the second of their run. */
const SECOND = 10;

function startRoot(engine: EmbeddedEngine, amount: string): Promise<RunRef> {
  const budget = { amount, currency: 'USD' };
  return engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'root', budget });
}

it('overshoots by no more than what was under way, and starts nothing after that', {
  timeout: 60_000,
}, async ({ onTestFinished }) => {
  const engine = EmbeddedEngine.open({ dataDir: new InMemory() });
  onTestFinished(() => engine.close());
  const worker = new ScriptedWorker(engine);
  const run = await startRoot(engine, String(BUDGET));
  let underWay = 0;
  let most = 0;
  let begun = 0;
  let paid = 0;
  /** What was under way when the purse was empty for the first time. */
  let whenEmpty: number | undefined;
  const pays = ({ runId, scheduledEventId, attempt }: StepTask) => {
    underWay--;
    paid++;
    if (paid === BUDGET) whenEmpty = underWay;
    const costs = [{ kind: 'llm', label: null, currency: 'USD', amount: '1', usage: {} }];
    worker.say({ kind: 'stepCompleted', result: '1', runId, scheduledEventId, attempt, costs });
  };
  const takes = (message: ToWorker) => {
    if (message.kind === 'step') {
      begun++;
      underWay++;
      most = Math.max(most, underWay);
      return;
    }
    if (message.kind !== 'turn') return;
    const { workflowId, events } = message;
    const isFirst = events.some(({ type }) => type === 'WORKFLOW_EXECUTION_STARTED');
    const ended = events.findLast((event) => event.type === 'ACTIVITY_TASK_COMPLETED');
    if (workflowId === 'root') {
      const kids = isFirst ? Array.from({ length: CHILDREN }, (_, at) => child(at + 1, `kid-${at}`)) : [];
      worker.completeTurn(message, kids);
    } else if (isFirst) worker.completeTurn(message, [step(1)]);
    else if (ended) {
      const isLast = ended.attributes.scheduledEventId > SECOND;
      worker.completeTurn(message, isLast ? [complete()] : [step(2)]);
    } else worker.completeTurn(message, []);
  };

  const received: ToWorker[] = [];
  worker.takeOver((message) => {
    received.push(message);
    return true;
  });
  const waiting: StepTask[] = [];
  const drain = () => {
    for (const message of received.splice(0)) {
      takes(message);
      if (message.kind === 'step') waiting.push(message);
    }
  };
  const isOver = async () => {
    engine.flush();
    return received.length === 0 && waiting.length === 0;
  };
  // Steps end a few at a time, so that there are always some under way.
  for (let quiet = 0; quiet < 20; ) {
    drain();
    for (const task of waiting.splice(0, 20)) pays(task);
    await new Promise(setImmediate);
    quiet = (await isOver()) ? quiet + 1 : 0;
  }

  const report = await engine.cost(run, 'tree', () => {});
  const spent = paid;
  expect(report.budget).toMatchObject({
    spent: String(spent),
    isExceeded: true,
    overshoot: String(spent - BUDGET),
  });
  expect(begun).toBe(paid);
  expect(whenEmpty).toBeDefined();
  expect(spent - BUDGET).toBeLessThanOrEqual(whenEmpty!);
  // It would mean nothing had they come one after the other, or had all been done.
  expect(most).toBeGreaterThan(50);
  expect(spent).toBeLessThan(CHILDREN * STEPS);

  await engine.setBudget(run, String(CHILDREN * STEPS * 2));
  for (let quiet = 0; quiet < 20; ) {
    drain();
    for (const task of waiting.splice(0, 50)) pays(task);
    await new Promise(setImmediate);
    quiet = (await isOver()) ? quiet + 1 : 0;
  }
  expect(paid).toBe(CHILDREN * STEPS);
  expect((await engine.cost(run, 'tree', () => {})).budget).toMatchObject({
    spent: String(CHILDREN * STEPS),
  });
});

describe('one purse of more runs than go on at a time', () => {
  /** Less than the slots of a worker. */
  const COUNT = 90;

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

  /** Runs that wait for the budget. */
  const waiting = async (from: EmbeddedEngine) =>
    (await from.list({ paused: true }, { limit: 1_000 })).runs.length;

  async function allPaused(): Promise<void> {
    run = await startRoot(engine, '0');
    await worker.turn(...Array.from({ length: COUNT }, (_, at) => child(at + 1, `kid-${at}`)));
    for (let held = 0; held < COUNT; ) {
      const turn = await worker.next('turn');
      const isFirst = turn.events.some(({ type }) => type === 'WORKFLOW_EXECUTION_STARTED');
      if (turn.events.some(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED')) held++;
      worker.completeTurn(turn, turn.workflowId !== 'root' && isFirst ? [step(1)] : []);
    }
    engine.flush();
    expect(await waiting(engine)).toBe(COUNT);
  }

  it('lets others have their turn while they go on, each once', async () => {
    await allPaused();
    const raised = engine.setBudget(run, '10');
    engine.flush();
    const left = await waiting(engine);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(COUNT);
    const { workflowId } = (await engine.list({ paused: true }, { limit: 1 })).runs[0]!;
    expect((await engine.why({ workflowId })).summary).toContain('which suffices now');
    expect((await raised).budget).toMatchObject({ amount: '10', isExceeded: false });
    const begun = new Set<string>();
    while (begun.size < COUNT) begun.add((await worker.next('step')).runId);
    engine.flush();
    expect(await waiting(engine)).toBe(0);
    expect(worker.pending('step')).toEqual([]);
  });

  it('is paid to the end after a kill', async () => {
    await allPaused();
    const raised = engine.setBudget(run, '10');
    engine.flush();
    const killed = folder.asKilled();
    await raised;
    const after = killed.open({ clock });
    expect(await waiting(after)).toBeGreaterThan(0);
    const another = new ScriptedWorker(after);
    const begun = new Set<string>();
    while (begun.size < COUNT) begun.add((await another.next('step')).runId);
    after.flush();
    expect(await waiting(after)).toBe(0);
    await killed.remove();
  });

  it('begins anew when it is raised once more on the way, for those who have met it again meanwhile', async () => {
    await allPaused();
    await Promise.all([engine.setBudget(run, '10'), engine.setBudget(run, '0')]);
    // The first of them have met it again, and the others' time has not come.
    await expect.poll(() => waiting(engine), { interval: 0 }).toBe(COUNT);
    await engine.setBudget(run, '10');
    const begun = new Set<string>();
    while (begun.size < COUNT) begun.add((await worker.next('step')).runId);
    engine.flush();
    expect(await waiting(engine)).toBe(0);
  });

  it('lets the first go on at once, also when it is raised while it is being paid for', async () => {
    await allPaused();
    const changes = ['10', '0', '10'].map((amount) => engine.setBudget(run, amount));
    engine.flush();
    expect(await waiting(engine)).toBe(0);
    await Promise.all(changes);
  });

  it('goes no further once it is met again', async () => {
    await allPaused();
    const raised = engine.setBudget(run, '10');
    const lowered = engine.setBudget(run, '0');
    await Promise.all([raised, lowered]);
    // Those that were let go before have met it again, each before its step.
    await expect.poll(() => waiting(engine)).toBe(COUNT);
    expect(worker.pending('step').length).toBe(0);
    // The others were not let go for nothing, also when their time would have come.
    for (let commits = 0; commits < 5; commits++) await engine.recordTrace(run, {});
    const last = { workflowId: `kid-${COUNT - 1}` };
    const { events } = await engine.history(last, { afterEventId: 0, limit: 100 });
    expect(events.filter(({ type }) => type === 'WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(1);
    await engine.setBudget(run, '10');
    const begun = new Set<string>();
    while (begun.size < COUNT) begun.add((await worker.next('step')).runId);
  });
});
