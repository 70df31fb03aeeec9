import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CostRecord, costOf } from '../../core/cost/cost.js';
import { type RunCosts, sumOf } from '../../core/cost/sums.js';
import { type CostBody, CostPage } from './costs.js';

const REPORT = { workflowId: 'w', runId: '01900000-0000-7000-8000-000000000001', budget: null };

/** Few instants, so that many records share one. */
const records: fc.Arbitrary<CostRecord[]> = fc.array(
  fc.tuple(fc.nat(3), fc.nat(2), fc.nat(99)).map(([at, step, cents]) => ({
    ...costOf({ amount: (cents / 100).toFixed(2) }),
    ...{ at, stepName: `s${step}`, activityId: `${step}`, attempt: 1 },
  })),
  { maxLength: 20, size: 'max' },
);
const runs: fc.Arbitrary<RunCosts[]> = fc
  .array(records, { maxLength: 6, size: 'max' })
  .map((all) =>
    all.map((records, at) => ({ workflowId: `w${at}`, runId: `r${at}`, workflowType: 't', records })),
  );

function pageOf(all: RunCosts[], limit: number, cursor?: string): CostBody {
  const page = new CostPage(limit, cursor);
  for (const run of all) page.take(run);
  return page.body(REPORT, 'tree');
}

describe('a page of costs', () => {
  it('follows another until every record was there once, in the order of time, whatever the order of the runs', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 1, max: 7 }), (all, limit) => {
        const seen: CostBody['records'] = [];
        let isTurned = false;
        for (let cursor: string | undefined | null; cursor !== null; isTurned = !isTurned) {
          const body = pageOf(isTurned ? all.toReversed() : all, limit, cursor ?? undefined);
          expect(body.records.length).toBeLessThanOrEqual(limit);
          expect(body.totals).toEqual(sumOf(all.flatMap(({ records }) => records)).totals);
          seen.push(...body.records);
          cursor = body.nextCursor;
        }
        const instants = seen.map(({ at }) => at);
        expect(instants).toEqual([...instants].sort());
        const textOf = ({ runId, activityId, at, amount }: (typeof seen)[number]) =>
          [runId, activityId, Date.parse(at), amount].join();
        const wanted = all.flatMap(({ runId, records }) =>
          records.map(({ activityId, at, amount }) => [runId, activityId, at, amount].join()),
        );
        expect(seen.map(textOf).sort()).toEqual(wanted.sort());
      }),
    );
  });

  it('has the sums by steps in the order in which those first said something', () => {
    const said = (stepName: string, at: number, attempt = 1) => ({
      ...costOf({ amount: 1, usage: { calls: 1 } }),
      ...{ at, stepName, activityId: stepName, attempt },
    });
    const late = { workflowId: 'b', runId: 'b', workflowType: 't', records: [said('second', 5)] };
    const early = { workflowId: 'a', runId: 'a', workflowType: 't', records: [said('first', 1)] };
    early.records.push(said('second', 7), said('second', 8, 2));
    expect(pageOf([late, early], 1).bySteps).toMatchObject([
      { stepName: 'first', attempts: 1, totals: [{ amount: '1' }] },
      { stepName: 'second', attempts: 3, totals: [{ amount: '3' }], usage: { calls: 3 } },
    ]);
  });

  it('has no more names of counts than anybody reads, and loses none', () => {
    const records = Array.from({ length: 3_000 }, (_, at) => ({
      ...costOf({ amount: 1, usage: { [`request-${at}`]: 1 } }),
      ...{ at, stepName: 's', activityId: '1', attempt: 1 },
    }));
    const { usage } = pageOf([{ workflowId: 'a', runId: 'a', workflowType: 't', records }], 1);
    expect(Object.keys(usage).length).toBeLessThanOrEqual(1_001);
    expect(Object.values(usage).reduce((sum, count) => sum + count)).toBe(3_000);
  });
});
