/** What runs spend in a test, and budgets that hold them back; also when everything goes wrong that can. */
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stepContext, UsageError } from '../../src/sdk/index.js';
import {
  crashEverywhere,
  createTestEnvironment,
  type TestEnvironment,
  WorkflowStuckError,
} from '../../src/testing/index.js';
import { note } from './workflows/stepping/steps.js';
import { cleaning, parallelNotes, twoNotes } from './workflows/stepping/workflow.js';

const workflows = fileURLToPath(new URL('workflows', import.meta.url));

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows, startTime: Date.parse('2026-01-01T00:00:00.000Z') });
  env.mock(note, async () => {
    stepContext().cost({ amount: '0.4', kind: 'llm', usage: { tokens: 10 } });
    return 1;
  });
});
afterEach(() => env.close());

const budget = { amount: 0.4, currency: 'USD' };

describe('in a test', () => {
  test('what steps say is summed up', async () => {
    const run = await env.start(twoNotes);
    await run.result();
    expect(await run.cost()).toMatchObject({
      totals: [{ currency: 'USD', amount: '0.8' }],
      usage: { tokens: 20 },
      bySteps: [{ workflowType: 'twoNotes', stepName: 'note', attempts: 2 }],
      records: [
        { workflowId: run.workflowId, runId: run.runId, at: '2026-01-01T00:00:00.000Z', kind: 'llm' },
        { amount: '0.4' },
      ],
      budget: null,
    });
  });

  test('a budget pauses a run, and raised it goes on', async () => {
    const run = await env.start(twoNotes, undefined, { budget });
    await expect(run.result()).rejects.toThrow(WorkflowStuckError);
    await expect(run.result()).rejects.toThrow(/budget is spent: 0\.4 of 0\.4 USD/);
    expect(await run.status()).toMatchObject({ status: 'running', paused: { by: 'budget' } });
    expect(run.calls(note)).toHaveLength(1);
    expect(await run.setBudget('0.3')).toMatchObject({ isExceeded: true, overshoot: '0.1' });
    expect(await run.setBudget(1)).toMatchObject({ amount: '1', spent: '0.4', isExceeded: false });
    expect(await run.result()).toEqual([1, 1]);
    expect(run.calls(note)).toHaveLength(2);
    expect(await run.cost({ scope: 'tree' })).toMatchObject({ budget: { spent: '0.8', isExceeded: false } });
    expect((await run.status()).paused).toBeUndefined();
  });

  test.each([
    [{ amount: -1, currency: 'USD' }, /negative/],
    [{ amount: 0.1 + 0.2, currency: 'USD' }, /9 decimals/],
    [{ amount: 1, currency: 'dollars' }, /ISO 4217/],
    [{ amount: 1, currency: 'USD', ammount: 1 }, /ammount/],
    [{ currency: 'USD' }, /amount of a budget/],
  ])('a budget of %j is refused', async (wrong, message) => {
    const started = env.start(twoNotes, undefined, { budget: wrong as typeof budget });
    await expect(started).rejects.toThrow(UsageError);
    await expect(started).rejects.toThrow(message);
  });

  test('a run that has none gets none, nor does a closed one', async () => {
    const without = await env.start(cleaning);
    await expect(without.setBudget(1)).rejects.toMatchObject({ name: 'ValidationError' });
    await expect(without.setBudget('much')).rejects.toThrow(UsageError);
    const closed = await env.start(twoNotes, undefined, { budget: { amount: 9, currency: 'USD' } });
    await closed.result();
    await expect(closed.setBudget(1)).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
  });
});

describe('whatever goes wrong', () => {
  test('a budget holds, and what was spent of it is what the steps have said', async () => {
    const report = await crashEverywhere(env, async (inner) => {
      const run = await inner.start(parallelNotes, ['a', 'b', 'c'], {
        budget: { amount: 1, currency: 'USD' },
      });
      const result = await run.result();
      const { totals, budget, records } = await run.cost({ scope: 'tree' });
      const attempts = new Set(records.map(({ activityId, attempt }) => `${activityId}/${attempt}`));
      // How many attempts it took depends on what went wrong.
      return {
        result,
        isAllCounted: totals[0]?.amount === budget?.spent,
        isCountedOnce: attempts.size === records.length,
        hasAll: new Set(records.map(({ activityId }) => activityId)).size === 3,
      };
    });
    expect(report.steps).toBeGreaterThanOrEqual(3);
    expect(report.trials).toBeGreaterThan(10);
  });

  test('a run that waits for its budget waits for it after every crash', async () => {
    await crashEverywhere(env, async (inner) => {
      const run = await inner.start(twoNotes, undefined, { budget });
      const isStuck = await run.result().catch((error: unknown) => error instanceof WorkflowStuckError);
      const { paused } = await run.status();
      const { budget: state } = await run.cost();
      await run.setBudget(100);
      return { isStuck, by: paused?.by, isExceeded: state?.isExceeded, result: await run.result() };
    });
  });
});
