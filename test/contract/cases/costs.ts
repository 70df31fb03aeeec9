import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type CostScope, type RunCosts, sumOf } from '../../../src/core/cost/sums.js';
import type { CostReport } from '../../../src/engine.js';
import { type Run, type Stage, unique } from '../stage.js';

const amount = (text: string) => ({ spend: [{ amount: text }] });

/** What the steps of a case have said, by themselves: in hundredths, so that it is counted otherwise than by the engine. */
function saidBy(stage: Stage, key: string): number {
  const entries = stage.ledger.entries(key).filter(({ what }) => what === 'spent');
  return entries.reduce((sum, { value }) => sum + Math.round(Number(value) * 100), 0);
}

type Report = CostReport & { runs: RunCosts[] };

const totalOf = ({ runs }: Report): string =>
  sumOf(runs.flatMap(({ records }) => records))
    .totals.map((each) => `${each.amount} ${each.currency}`)
    .join();

async function cost({ stage, pinned }: Run, scope: CostScope = 'run'): Promise<Report> {
  const runs: RunCosts[] = [];
  const report = await stage.engine.cost(pinned, scope, (each) => runs.push(each));
  return { ...report, runs };
}

async function until<T>(stage: Stage, what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + stage.waitMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (Date.now() > deadline) throw new Error(`it has not come to ${what}`);
    await pause(50);
  }
}

const spent = (run: Run, wanted: string, scope: CostScope = 'run') =>
  until(run.stage, wanted, async () => (totalOf(await cost(run, scope)) === wanted ? true : undefined));

const pausedByBudget = (run: Run) =>
  until(
    run.stage,
    'a pause by the budget',
    async () => (await run.describe()).paused?.by === 'budget' || undefined,
  );

async function start(stage: Stage, plan: object[], budget?: string): Promise<{ run: Run; key: string }> {
  const place = stage.place();
  const options = budget === undefined ? {} : { budget: { amount: budget, currency: 'USD' } };
  return { run: await stage.start('spends', { ...place, plan }, options), key: place.key };
}

export function costCases(stage: Stage): void {
  describe('what steps have spent', () => {
    test('is summed up over retries, and makes no event more', async () => {
      const plan = [{ spend: [{ amount: '0.10', fails: 2 }] }, amount('0.25')];
      const { run, key } = await start(stage, plan);
      await run.result();
      expect(totalOf(await cost(run))).toBe('0.55 USD');
      expect(saidBy(stage, key)).toBe(55);
      const { runs } = await cost(run);
      expect(runs[0]!.records.map((each) => [each.attempt, each.amount, each.usage, each.label])).toEqual([
        [1, '0.1', { calls: 1 }, 'model'],
        [2, '0.1', { calls: 1 }, 'model'],
        [3, '0.1', { calls: 1 }, 'model'],
        [1, '0.25', { calls: 1 }, 'model'],
      ]);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        ...Array(2)
          .fill(['ACTIVITY_TASK_SCHEDULED', 'ACTIVITY_TASK_STARTED', 'ACTIVITY_TASK_COMPLETED'])
          .flat(),
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('is kept by a step that fails for good', async () => {
      const { run } = await start(stage, [{ spend: [{ amount: '0.5', fails: 9 }] }]);
      expect((await run.outcome()).status).toBe('failed');
      expect(totalOf(await cost(run))).toBe('2 USD');
    });

    test('is seen while a step runs, also by the next attempt that was told something else', async () => {
      const gate = unique('gate');
      const { run } = await start(stage, [{ slowly: { amount: '1.5', fails: 1, gate, beats: 'here' } }]);
      await spent(run, '3 USD');
      expect((await run.describe()).status).toBe('running');
      stage.ledger.release(gate);
      // What its author has said with a heartbeat comes back as it was.
      expect(await run.result()).toBe('here');
      expect(totalOf(await cost(run))).toBe('3 USD');
    });

    test('stays with an attempt that takes too long', async () => {
      const { run } = await start(stage, [{ spend: [{ amount: '2', hangs: 1 }] }]);
      expect(await run.result()).toBe(2);
      expect(totalOf(await cost(run))).toBe('4 USD');
    });

    test('stays with a step that is cancelled', async () => {
      const run = await stage.start('spendsUntilStopped', stage.place());
      await spent(run, '3 USD');
      await run.cancel();
      expect(await run.result()).toBe('stopped');
      expect(totalOf(await cost(run))).toBe('3 USD');
    });

    test('has a total for each currency', async () => {
      const plan = [
        { spend: [{ amount: '1' }, { amount: '2', currency: 'EUR' }, { amount: '4', currency: 'XTK' }] },
      ];
      const { run } = await start(stage, plan);
      await run.result();
      expect(totalOf(await cost(run))).toBe('2 EUR,1 USD,4 XTK');
    });

    test('that cannot be counted is refused at once, and nothing else is lost', async () => {
      const run = await stage.start('misspends', stage.place());
      expect(await run.result()).toEqual(Array(5).fill('UsageError'));
      expect(totalOf(await cost(run))).toBe('0.5 USD');
    });

    test('is summed up over a chain and over a tree', async () => {
      const kids = { children: [[amount('1'), { again: [amount('2')] }], [amount('4')]] };
      const { run } = await start(stage, [amount('8'), kids, { again: [amount('16')] }]);
      await run.result();
      expect(totalOf(await cost(run))).toBe('8 USD');
      expect(totalOf(await cost(run, 'chain'))).toBe('24 USD');
      expect(totalOf(await cost(run, 'tree'))).toBe('31 USD');
      const last = await stage.attach(run.workflowId);
      expect(totalOf(await cost(last))).toBe('16 USD');
      expect(totalOf(await cost(last, 'tree'))).toBe('31 USD');
    });

    test('counts once after a reset', async () => {
      const { run, key } = await start(stage, [amount('1'), amount('2'), amount('4')]);
      await run.result();
      const again = await run.reset({ stepName: 'spend', occurrence: 1 });
      await again.result();
      expect(saidBy(stage, key)).toBe(1300);
      expect(totalOf(await cost(again, 'chain'))).toBe('13 USD');
      expect(totalOf(await cost(run, 'chain'))).toBe('13 USD');
      expect(totalOf(await cost(again))).toBe('7 USD');
    });

    test('counts for every reset of the same run', async () => {
      const { run, key } = await start(stage, [amount('1'), amount('2'), amount('4')]);
      await run.result();
      const again = await run.reset({ stepName: 'spend', occurrence: 1 });
      await again.result();
      const last = await run.reset({ stepName: 'spend', occurrence: 2 });
      await last.result();
      expect(saidBy(stage, key)).toBe(1700);
      for (const each of [run, again, last]) {
        expect(totalOf(await cost(each, 'chain'))).toBe('17 USD');
        expect(totalOf(await cost(each, 'tree'))).toBe('17 USD');
      }
    });
  });

  describe('a budget', () => {
    test('pauses the run before the step that would go beyond it; raised, it goes on and no step runs twice', async () => {
      const { run, key } = await start(stage, [amount('1'), amount('1'), amount('1')], '1.5');
      await pausedByBudget(run);
      expect(saidBy(stage, key)).toBe(200);
      const { budget } = await cost(run);
      expect(budget).toEqual({
        amount: '1.5',
        currency: 'USD',
        spent: '2',
        isExceeded: true,
        overshoot: '0.5',
      });
      const { reasons, isStuck } = await stage.engine.why(run.pinned);
      expect(isStuck).toBe(true);
      expect(reasons.find(({ code }) => code === 'paused')?.message).toContain('2 of 1.5 USD');
      const raised = await stage.engine.setBudget(run.pinned, '10');
      expect(raised.budget).toMatchObject({ amount: '10', spent: '2', isExceeded: false });
      await run.result();
      expect(saidBy(stage, key)).toBe(300);
      const keys = stage.ledger.entries(key).map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys).size).toBe(3);
      await expect(stage.engine.setBudget(run.pinned, '20')).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
      });
    });

    test('of nothing starts nothing', async () => {
      const { run, key } = await start(stage, [amount('1')], '0');
      await pausedByBudget(run);
      expect(stage.ledger.entries(key)).toEqual([]);
      await stage.engine.setBudget(run.pinned, '1');
      await run.result();
      expect(saidBy(stage, key)).toBe(100);
    });

    test('holds back a further attempt of a step that fails', async () => {
      const { run, key } = await start(stage, [{ spend: [{ amount: '1', fails: 2 }] }], '1');
      await pausedByBudget(run);
      expect(saidBy(stage, key)).toBe(100);
      await stage.engine.setBudget(run.pinned, '10');
      await run.result();
      // How many more attempts fail depends on whether the one that was held back has a number.
      const said = saidBy(stage, key);
      expect(said).toBeGreaterThanOrEqual(200);
      expect(totalOf(await cost(run))).toBe(`${said / 100} USD`);
    });

    test('goes on over continue-as-new', async () => {
      const { run, key } = await start(stage, [amount('1'), { again: [amount('1'), amount('1')] }], '2');
      const next = await run.next();
      await pausedByBudget(next);
      expect(saidBy(stage, key)).toBe(200);
      await stage.engine.setBudget(next.pinned, '3');
      await next.result();
      expect((await cost(next)).budget).toMatchObject({ spent: '3', isExceeded: true });
    });

    test('counts its own currency alone, and says so', async () => {
      const place = stage.place();
      const plan = [amount('5'), { spend: [{ amount: '1', currency: 'EUR' }] }, amount('1')];
      const budget = { amount: '1', currency: 'EUR' };
      const run = await stage.start('spends', { ...place, plan }, { budget });
      await pausedByBudget(run);
      expect((await cost(run)).budget).toMatchObject({ spent: '1', overshoot: '0' });
      expect(totalOf(await cost(run))).toBe('1 EUR,5 USD');
      const { reasons } = await stage.engine.why(run.pinned);
      expect(reasons.find(({ code }) => code === 'paused')?.message).toContain(
        '1 of 1 EUR (only what is spent in EUR counts)',
      );
      await stage.engine.setBudget(run.pinned, '2');
      await run.result();
      expect(saidBy(stage, place.key)).toBe(700);
    });

    test('knows after a reset what was spent before it', async () => {
      const { run, key } = await start(stage, [amount('1'), amount('2'), amount('4')], '8');
      await run.result();
      const again = await run.reset({ stepName: 'spend', occurrence: 1 });
      // Seven are spent, so there is enough for the second step and not for the third.
      await pausedByBudget(again);
      expect((await cost(again)).budget).toMatchObject({ spent: '9', isExceeded: true, overshoot: '1' });
      await stage.engine.setBudget(again.pinned, '20');
      await again.result();
      expect(saidBy(stage, key)).toBe(1300);
      expect((await cost(again)).budget).toMatchObject({ spent: '13' });
    });

    test('is one purse for a tree: only what is under way goes beyond it', async () => {
      const one = [amount('1'), amount('1'), amount('1')];
      const { run, key } = await start(stage, [{ children: [one, one, one] }], '4');
      const starts = Array.from({ length: 3 }, (_, at) =>
        run.until('CHILD_WORKFLOW_EXECUTION_STARTED', at + 1),
      );
      const kids = await Promise.all(
        (await Promise.all(starts)).map(({ attributes }) =>
          stage.attach(attributes.workflowExecution.workflowId),
        ),
      );
      // One that was ahead of the others may have spent all it had to before it was empty.
      const seen = await until(stage, 'an end of spending', async () => {
        const all = await Promise.all(kids.map((kid) => kid.describe()));
        const isStill = all.every(({ paused, status }) => paused?.by === 'budget' || status === 'completed');
        return isStill ? all : undefined;
      });
      expect(seen.filter(({ paused }) => paused).length).toBeGreaterThan(0);
      const said = saidBy(stage, key);
      // At most the two others were under way when the last unit was spent.
      expect(said).toBeGreaterThanOrEqual(400);
      expect(said).toBeLessThanOrEqual(600);
      const { budget } = await cost(run);
      expect(budget).toMatchObject({ spent: String(said / 100), overshoot: String(said / 100 - 4) });
      await stage.engine.setBudget(run.pinned, '100');
      await run.result();
      expect(saidBy(stage, key)).toBe(900);
      expect(totalOf(await cost(run, 'tree'))).toBe('9 USD');
    });

    test('cannot be set for a run without one', async () => {
      const { run } = await start(stage, [{ slowly: { amount: '1', gate: 'never' } }]);
      await expect(stage.engine.setBudget(run.pinned, '1')).rejects.toMatchObject({
        name: 'ValidationError',
      });
      await run.terminate();
    });
  });
}
