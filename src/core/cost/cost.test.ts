import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COST_LIMITS } from '../bounds/limits.js';
import type { HistoryEvent } from '../history/event.js';
import { budgetState, isKnownCurrency, isMet } from './budget.js';
import { bounded, type CostInput, type CostRecord, costOf, costProblem, isCost, isKept } from './cost.js';
import { ownEvents, RunSums, sumOf } from './sums.js';

describe('what a step may say', () => {
  it.each([
    { amount: 0 },
    { amount: '0.000000001' },
    { amount: 1e-9 },
    { amount: '0.10', currency: 'EUR', kind: 'llm', label: 'gpt', usage: { inputTokens: 12, seconds: 0.5 } },
    { amount: 1, label: null, usage: {} },
    { amount: 1, currency: undefined, kind: undefined, label: undefined, usage: undefined },
  ] as CostInput[])('takes %j', (given) => {
    expect(costProblem(given)).toBeUndefined();
    expect(isCost(costOf(given))).toBe(true);
  });

  it.each([
    [{ amount: -1 }, /negative/],
    [{ amount: '-0.01' }, /negative/],
    [{ amount: 1e-10 }, /9 decimals/],
    [{ amount: '0.1234567891' }, /9 decimals.*has 10/],
    [{ amount: 0.1 + 0.2 }, /9 decimals.*toFixed/],
    [{ amount: Number.NaN }, /NaN/],
    [{ amount: Number.POSITIVE_INFINITY }, /Infinity/],
    [{ amount: 1e16 }, /at most/],
    [{ amount: '1,50' }, /decimal/],
    [{ amount: null }, /null/],
    [{}, /undefined/],
    [{ amount: 1, currency: 'usd' }, /three capital letters/],
    [{ amount: 1, currency: 'EURO' }, /three capital letters/],
    [{ amount: 1, currency: null }, /three capital letters/],
    [{ amount: 1, kind: '' }, /short name/],
    [{ amount: 1, kind: 'a b' }, /short name/],
    [{ amount: 1, kind: 'x'.repeat(51) }, /short name/],
    [{ amount: 1, label: 5 }, /label/],
    [{ amount: 1, label: 'x'.repeat(201) }, /label/],
    [{ amount: 1, usage: [] }, /usage/],
    [{ amount: 1, usage: { tokens: -1 } }, /usage\.tokens/],
    [{ amount: 1, usage: { tokens: '5' } }, /usage\.tokens/],
    [{ amount: 1, usage: { tokens: Number.NaN } }, /usage\.tokens/],
    [{ amount: 1, usage: { tokens: 1e16 } }, /usage\.tokens may be at most/],
    [{ amount: 1, usage: { tokens: 1e308 } }, /usage\.tokens may be at most/],
    [{ amount: 1, usage: { '': 1 } }, /usage/],
    [{ amount: 1, usage: JSON.parse('{"__proto__":1}') }, /usage/],
    [{ amount: 1, usage: Object.fromEntries([...Array(21).keys()].map((n) => [`n${n}`, n])) }, /20 names/],
    [{ amount: 1, curency: 'USD' }, /did you mean "currency"/],
    [5, /an object/],
    [undefined, /an object/],
    [[1], /an object/],
  ])('refuses %j', (given, message) => expect(costProblem(given)).toMatch(message));
});

const cost = fc.record({
  amount: fc
    .bigInt(0n, 10n ** 12n)
    .map((units) => `${units / 10n ** 9n}.${String(units % 10n ** 9n).padStart(9, '0')}`),
  currency: fc.constantFrom('USD', 'EUR', 'XTK'),
  kind: fc.constantFrom('llm', 'http', 'other'),
  label: fc.option(fc.constantFrom('small', 'large')),
  usage: fc.dictionary(
    fc.constantFrom('inputTokens', 'constructor', 'toString', 'hasOwnProperty'),
    fc.oneof(fc.nat(1_000_000), fc.constantFrom(0.1, 0.25)),
  ),
});
const record: fc.Arbitrary<CostRecord> = fc
  .tuple(cost, fc.nat(5), fc.integer({ min: 1, max: 4 }))
  .map(([said, step, attempt]) => ({
    ...costOf(said),
    at: 1,
    stepName: `s${step % 2}`,
    activityId: `${step}`,
    attempt,
  }));

const one: CostRecord = { ...costOf({ amount: 1 }), at: 1, stepName: 's', activityId: '1', attempt: 1 };

function sumsBySteps(records: CostRecord[]) {
  const sums = new RunSums();
  sums.add({ workflowId: 'w', runId: 'r', workflowType: 't', records });
  return sums.bySteps;
}

describe('sums', () => {
  it('of parts are the sums of the whole, to the last decimal', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 50 }), (records) => {
        const bySteps = sumsBySteps(records);
        const whole = new Map<string, bigint>();
        for (const { currency, amount } of records) {
          const [units, fraction = ''] = amount.split('.');
          const nano = BigInt(units! + fraction.padEnd(9, '0'));
          whole.set(currency, (whole.get(currency) ?? 0n) + nano);
        }
        const nanoOf = (totals: { currency: string; amount: string }[], wanted: string) => {
          const [units = '0', fraction = ''] = (
            totals.find((each) => each.currency === wanted)?.amount ?? '0'
          ).split('.');
          return BigInt(units + fraction.padEnd(9, '0'));
        };
        for (const [currency, expected] of whole) {
          expect(nanoOf(sumOf(records).totals, currency)).toBe(expected);
          const ofSteps = bySteps.reduce((sum, { totals }) => sum + nanoOf(totals, currency), 0n);
          expect(ofSteps).toBe(expected);
        }
        const attempts = new Set(records.map((each) => `${each.activityId}/${each.attempt}`));
        expect(bySteps.reduce((sum, step) => sum + step.attempts, 0)).toBe(attempts.size);
      }),
    );
  });

  it('stay the same when a step has said more than is kept one by one', () => {
    const many = fc.array(record, { minLength: 20, maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(many, fc.integer({ min: 10, max: 30 }), (records, most) => {
        const kept = bounded(records, most);
        expect(kept.length).toBeLessThanOrEqual(Math.max(most, 3 + Math.ceil(most / 2)));
        expect(sumOf(kept).totals).toEqual(sumOf(records).totals);
        expect(sumOf(kept).usage).toEqual(sumOf(records).usage);
      }),
    );
    expect(COST_LIMITS.perStep).toBeGreaterThan(COST_LIMITS.perAttempt);
  });

  it('tell attempts apart as long as those are few', () => {
    const said = [1, 2, 3].flatMap((attempt) => Array.from({ length: 10 }, () => ({ ...one, attempt })));
    const kept = bounded(said, 20);
    expect(kept.length).toBeLessThanOrEqual(20);
    const [step] = sumsBySteps(kept);
    expect(step).toMatchObject({ attempts: 3, totals: [{ amount: '30' }] });
  });

  it('have as many names of counts as anybody reads, and lose no count', () => {
    const said = Array.from({ length: 5_000 }, (_, at) => ({ ...one, usage: { [`request-${at}`]: 1 } }));
    const [merged] = bounded(said, 10);
    expect(Object.keys(merged!.usage).length).toBeLessThanOrEqual(COST_LIMITS.usageNamesPerStep + 1);
    expect(Object.values(merged!.usage).reduce((sum, count) => sum + count)).toBe(4_995);
    // It is more than may be said at once, and still taken where it comes back from others.
    expect([isCost(merged), isKept(merged)]).toEqual([false, true]);
  });

  it.each([
    ['labels', (at: number) => ({ label: `${'模'.repeat(190)}${at}` })],
    ['names of counts', (at: number) => ({ usage: { [`${'数'.repeat(40)}${at}`]: 1 } })],
  ])('take a bounded number of bytes, however long their %s are, and lose nothing', (_, long) => {
    const said = (attempt: number) =>
      Array.from({ length: 400 }, (_, at) => ({ ...one, ...long(attempt * 400 + at), attempt }));
    let kept: CostRecord[] = [];
    for (let attempt = 1; attempt <= 20; attempt++) kept = bounded([...kept, ...said(attempt)]);
    expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(COST_LIMITS.bytesPerStep);
    const all = Array.from({ length: 20 }, (_, at) => said(at + 1)).flat();
    expect(sumOf(kept).totals).toEqual(sumOf(all).totals);
    const counts = ({ usage }: { usage: Record<string, number> }) =>
      Object.values(usage).reduce((sum, count) => sum + count, 0);
    expect(counts(sumOf(kept))).toBe(counts(sumOf(all)));
    // The last are there as they were said.
    expect(kept.slice(-100)).toEqual(all.slice(-100));
  });

  it('take a bounded number of bytes where each kind has as many names of counts as there may be', () => {
    const said = Array.from({ length: 1_900 }, (_, at) => {
      const names = Array.from({ length: 5 }, (_, name) => [
        `${'n'.repeat(45)}${(at * 5 + name) % 1_000}`,
        1,
      ]);
      return { ...one, kind: `kind${at % 100}`, usage: Object.fromEntries(names) as Record<string, number> };
    });
    const kept = bounded(said);
    expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(COST_LIMITS.bytesPerStep);
    expect(sumOf(kept).totals).toEqual(sumOf(said).totals);
  });

  it('take what was kept, and nothing else that others may have written', () => {
    const kept = costOf({ amount: '1' });
    const wrong = [null, 5, {}, { amount: '-1' }, { amount: '1.0' }, { amount: 1 }, { currency: 'usd' }];
    const wrongToo = [{ kind: '' }, { label: 5 }, { usage: null }, { usage: { tokens: null } }];
    expect(isKept(kept)).toBe(true);
    for (const each of [...wrong, ...wrongToo]) {
      const isPart = typeof each === 'object' && each !== null && Object.keys(each).length > 0;
      expect(isKept(isPart ? { ...kept, ...each } : each)).toBe(false);
    }
  });

  it('do not count counts as floats', () => {
    const said = Array.from({ length: 10 }, () => ({
      currency: 'USD',
      amount: '0.1',
      usage: { seconds: 0.1 },
    }));
    expect(sumOf(said as unknown as CostRecord[])).toMatchObject({
      totals: [{ currency: 'USD', amount: '1' }],
      usage: { seconds: 1 },
    });
  });

  it('leave out what a reset has taken over', () => {
    const reset = { type: 'WORKFLOW_TASK_FAILED', attributes: { cause: 'RESET_WORKFLOW' } };
    const other = { type: 'WORKFLOW_TASK_FAILED', attributes: { cause: 'NON_DETERMINISTIC_ERROR' } };
    const events = ['a', reset, 'b', reset, other, 'c'] as unknown as HistoryEvent[];
    expect(ownEvents(events.filter((each) => typeof each === 'object' || each === 'c'))).toEqual([
      other,
      'c',
    ]);
  });
});

describe('a budget', () => {
  it.each([
    ['1', '0.999999999', false, '0'],
    ['1', '1', true, '0'],
    ['1', '1.25', true, '0.25'],
    ['0', '0', true, '0'],
  ])('of %s with %s spent', (amount, spent, isExceeded, overshoot) => {
    expect(isMet(amount, spent)).toBe(isExceeded);
    expect(budgetState({ amount, currency: 'USD' }, spent)).toEqual({
      ...{ amount, currency: 'USD', spent, isExceeded, overshoot },
    });
  });

  it('is in a currency that exists, or in units of its own', () => {
    expect(['USD', 'EUR', 'JPY', 'XTK'].map(isKnownCurrency)).toEqual([true, true, true, true]);
    expect(['ABC', 'UDS', 'EUX'].map(isKnownCurrency)).toEqual([false, false, false]);
  });
});
