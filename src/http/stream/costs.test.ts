/** Readers of what a run spends get every record once, in frames of a size that a slow one can take. */
import { describe, expect, it } from 'vitest';
import { bounded, type CostRecord, costOf } from '../../core/cost/cost.js';
import type { RunCosts } from '../../core/cost/sums.js';
import type { Engine } from '../../engine.js';
import { CostFeed, CostLooks } from './costs.js';

const RUN = { workflowId: 'w', runId: 'r' };

class SpendingRun {
  records: CostRecord[] = [];

  /** What was said at one instant, in one attempt. */
  say(at: number, count: number, most = Number.POSITIVE_INFINITY): void {
    const place = { at, stepName: 's', activityId: '1', attempt: at };
    const said = Array.from({ length: count }, () => ({ ...costOf({ amount: '1' }), ...place }));
    this.records = bounded([...this.records, ...said], most);
  }

  readonly engine = {
    cost: async (_run: unknown, _scope: unknown, take: (run: RunCosts) => void) => {
      take({ ...RUN, workflowType: 't', records: this.records });
      return { ...RUN, budget: null };
    },
  } as Partial<Engine> as Engine;

  /** Each look is a new one, as if a second had passed. */
  readonly feed = new CostFeed(new CostLooks(this.engine), RUN);

  async told(): Promise<{ total: string | undefined; counts: number[] }> {
    this.feed.take(await this.feed.look(true));
    const counts: number[] = [];
    let total: string | undefined;
    for (let frame = this.feed.next(); frame; frame = this.feed.next()) {
      const { totals, records } = JSON.parse(frame.split('data: ')[1]!) as {
        totals: { amount: string }[];
        records: unknown[];
      };
      total = totals[0]?.amount;
      counts.push(records.length);
    }
    return { total, counts };
  }
}

describe('a reader of what a run spends', () => {
  it('is told something first, and then what is new', async () => {
    const run = new SpendingRun();
    expect(await run.told()).toEqual({ total: undefined, counts: [0] });
    expect(await run.told()).toEqual({ total: undefined, counts: [] });
    run.say(1, 2);
    expect(await run.told()).toEqual({ total: '2', counts: [2] });
    // Of the same instant.
    run.say(1, 1);
    expect(await run.told()).toEqual({ total: '3', counts: [1] });
    expect(await run.told()).toEqual({ total: undefined, counts: [] });
  });

  it('gets many in several frames', async () => {
    const run = new SpendingRun();
    run.say(1, 1_200);
    expect(await run.told()).toEqual({ total: '1200', counts: [500, 500, 200] });
  });

  it('gets what comes after older records were summed up', async () => {
    const run = new SpendingRun();
    run.say(1, 20, 20);
    expect((await run.told()).counts).toEqual([20]);
    run.say(2, 5, 20);
    expect(run.records.length).toBeLessThan(20);
    expect(await run.told()).toEqual({ total: '25', counts: [5] });
  });

  it('loses nothing when a look comes while it still has untold ones', async () => {
    const run = new SpendingRun();
    run.say(1, 700);
    run.feed.take(await run.feed.look(true));
    run.feed.next();
    expect(run.feed.hasMore).toBe(true);
    run.say(2, 1);
    expect(await run.told()).toEqual({ total: '701', counts: [201] });
  });
});
