/** Costs of a tree, page by page: what does not change is read once. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Cost, CostRecord } from '../../core/cost/cost.js';
import { type RunCosts, sumOf } from '../../core/cost/sums.js';
import type { StepTask } from '../../core/task.js';
import type { EmbeddedEngine } from '../index.js';
import { CATALOG, child, complete, Folder, ScriptedWorker, step } from '../scripted-worker.fixture.js';
import { Histories } from '../store/tables/histories.js';
import { ClosedCosts } from './closed-costs.js';

let folder: Folder;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
beforeEach(() => {
  folder = new Folder();
  engine = folder.open();
  worker = new ScriptedWorker(engine);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await folder.remove();
});

const ONE: Cost = { kind: 'llm', label: null, currency: 'USD', amount: '1', usage: {} };
const completes = ({ runId, scheduledEventId, attempt }: StepTask) =>
  worker.say({ kind: 'stepCompleted', result: '1', runId, scheduledEventId, attempt, costs: [ONE] });

/** What the tree has spent, and how often a history was read for that. */
async function asked(): Promise<{ total: string; read: number }> {
  const read = vi.spyOn(Histories.prototype, 'withCosts');
  const runs: RunCosts[] = [];
  await engine.cost({ workflowId: 'a' }, 'tree', (run) => runs.push(run));
  const times = read.mock.calls.length;
  read.mockRestore();
  const sum = sumOf(runs.flatMap(({ records }) => records));
  return { total: sum.totals[0]?.amount ?? '0', read: times };
}

it('reads closed runs once and open ones each time, and misses nothing', async () => {
  await engine.start({ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'a' });
  await worker.turn(child(1, 'b'), child(2, 'c'), child(3, 'd'));
  const tasks = new Map<string, StepTask>();
  while (tasks.size < 3) {
    const turn = await worker.next('turn');
    const isChild = turn.workflowId !== 'a';
    worker.completeTurn(turn, isChild ? [step(1)] : []);
    if (isChild) tasks.set(turn.workflowId, await worker.next('step'));
  }
  const ends = async (workflowId: string) => {
    completes(tasks.get(workflowId)!);
    for (;;) {
      const turn = await worker.next('turn');
      worker.completeTurn(turn, turn.workflowId === workflowId ? [complete()] : []);
      if (turn.workflowId === workflowId) break;
    }
    engine.flush();
  };
  await ends('b');
  await ends('c');
  expect(await asked()).toEqual({ total: '2', read: 4 });
  // The root and the child that is open.
  expect(await asked()).toEqual({ total: '2', read: 2 });
  await ends('d');
  expect(await asked()).toEqual({ total: '3', read: 2 });
  expect(await asked()).toEqual({ total: '3', read: 1 });
  // A run of its own tells what it took over as well, which is not what it adds to a tree.
  const alone: RunCosts[] = [];
  await engine.cost({ workflowId: 'b' }, 'run', (run) => alone.push(run));
  expect(alone).toMatchObject([{ workflowId: 'b', records: [{ amount: '1' }] }]);
});

it('forgets those first that nobody has asked for lately', () => {
  const run = (count: number): RunCosts => ({
    ...{ workflowId: 'a', runId: 'r', workflowType: 'flow' },
    records: Array.from({ length: count }, () => ({ ...ONE }) as CostRecord),
  });
  const costs = new ClosedCosts(10);
  costs.keep(1, run(4));
  costs.keep(2, run(4));
  expect(costs.get(1)?.records).toHaveLength(4);
  costs.keep(3, run(0));
  expect([1, 2, 3].map((key) => costs.get(key)?.records.length)).toEqual([4, undefined, 0]);
  costs.keep(4, run(50));
  expect([1, 3, 4].map((key) => costs.get(key))).toEqual([undefined, undefined, undefined]);
});
