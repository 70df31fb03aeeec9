/** A thousand children that spend at once under one parent's budget: what goes beyond it is what was under way. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { StepTask, ToWorker } from '../../core/task.js';
import { EmbeddedEngine, InMemory } from '../index.js';
import { CATALOG, child, complete, ScriptedWorker, step } from '../scripted-worker.fixture.js';

const CHILDREN = 1_000;
/** Each wants as many steps of one unit. */
const STEPS = 2;
const BUDGET = 700;
/** Steps that are scheduled later than this are the second of their run. */
const SECOND = 10;

let engine: EmbeddedEngine;
beforeEach(() => {
  engine = EmbeddedEngine.open({ dataDir: new InMemory() });
});
afterEach(() => engine.close());

it('overshoots by no more than what was under way, and starts nothing after that', {
  timeout: 60_000,
}, async () => {
  const worker = new ScriptedWorker(engine);
  const budget = { amount: String(BUDGET), currency: 'USD' };
  const run = await engine.start({
    workflowType: 'flow',
    catalog: CATALOG,
    input: [],
    workflowId: 'root',
    budget,
  });
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
