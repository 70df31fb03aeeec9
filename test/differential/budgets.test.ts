/** What is held against a budget is found where it is broken. */
import { expect, test } from 'vitest';
import type { BudgetState } from '../../src/core/cost/budget.js';
import { brokenPromises, isDetermined, raised } from './budgets.js';
import type { Happened } from './driver.js';
import { Numbering } from './numbering.js';
import type { Program, Statement } from './program.js';
import { RunView } from './run-view.js';

const pays = (amount: string): Statement => ({
  ...{ op: 'step', step: 'act', does: { kind: 'return', value: { json: 1 } } },
  spends: [{ amount }, { amount: '100', currency: 'EUR' }],
});
const program: Program = {
  ...{ workflow: 'program', body: [pays('1'), pays('2')], script: [] },
  budget: { amount: '3', currency: 'USD', raises: [] },
};

function found({ spent, ...rest }: { spent: string } & Partial<BudgetState>, budgetAmount = '3'): string[] {
  const record = {
    at: 1,
    stepName: 'act',
    activityId: '1',
    attempt: 1,
    kind: 'other',
    label: null,
    usage: {},
  };
  const records = [
    { ...record, currency: 'USD', amount: '3' },
    { ...record, currency: 'EUR', amount: '200' },
  ];
  const happened: Happened = {
    ...{ runs: [new RunView('main', 'run')], outcomes: new Map(), played: [], costs: [], met: [] },
    treeCosts: [{ workflowId: 'main', runId: 'run', workflowType: 'program', records }],
    budget: { amount: budgetAmount, currency: 'USD', spent, isExceeded: true, overshoot: '0', ...rest },
    begun: [
      { runId: 'run', site: 1 },
      { runId: 'run', site: 2 },
    ],
  };
  const tried = { ...program, budget: { ...program.budget!, amount: budgetAmount } };
  return brokenPromises(happened, tried, new Numbering(tried));
}

test('nothing is wrong where all that was spent is in the purse', () => {
  expect(found({ spent: '3' })).toEqual([]);
});

test('a purse that has lost or made up something is found', () => {
  for (const spent of ['1', '3.000000001', '103']) {
    const overshoot = spent === '1' ? '0' : spent === '103' ? '100' : '0.000000001';
    expect(found({ spent, overshoot })).toEqual([expect.stringContaining(`the purse says ${spent}`)]);
  }
});

test('an overshoot that is not what was spent beyond the budget is found', () => {
  expect(found({ spent: '3', overshoot: '1' })).toEqual([expect.stringContaining('overshoot')]);
});

test('a step that begins when the budget is met is found', () => {
  expect(found({ spent: '3', overshoot: '2' }, '1')).toEqual(['step 2 began when 1 of 1 were spent']);
});

test('what happens side by side is not determined', () => {
  expect(isDetermined(program)).toBe(true);
  const branches = [[pays('1')], [pays('2')]];
  const gather: Statement = { op: 'gather', how: 'settled', concurrency: 2, branches };
  expect(isDetermined({ ...program, body: [{ op: 'try', body: [gather], shielded: false }] })).toBe(false);
  expect(isDetermined({ ...program, script: [{ at: 0, do: 'signal', body: [pays('1')] }] })).toBe(false);
});

test('a raise to the last unit is one more than was spent', () => {
  expect(raised('byLastUnit', '0.3')).toBe('0.300000001');
  expect(raised('toSpent', '0.3')).toBe('0.3');
});
