import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { COST_DELAY_MS, COST_LIMITS } from '../../core/bounds/limits.js';
import { type Cost, costOf } from '../../core/cost/cost.js';
import { SaidCosts } from './said-costs.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const one = costOf({ amount: '1' });
let sent: Cost[][];
const saidUntil = (timeoutMs: number) => {
  sent = [];
  return new SaidCosts((costs) => sent.push(costs), performance.now() + timeoutMs);
};

it('waits for the outcome for about a second', () => {
  const said = saidUntil(60_000);
  said.add(one);
  vi.advanceTimersByTime(COST_DELAY_MS - 1);
  said.add(one);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([[one, one]]);
  said.add(one);
  expect(said.take()).toEqual([one]);
  vi.advanceTimersByTime(COST_DELAY_MS);
  expect(sent).toHaveLength(1);
});

it('leaves again when more was said after the first has left', () => {
  const said = saidUntil(60_000);
  for (let round = 1; round <= 3; round++) {
    said.add(one);
    vi.advanceTimersByTime(COST_DELAY_MS);
    expect(sent).toHaveLength(round);
  }
});

it('leaves before the attempt times out, after which it may have nowhere to go', () => {
  const said = saidUntil(600);
  vi.advanceTimersByTime(500);
  said.add(one);
  vi.advanceTimersByTime(50);
  expect(sent).toEqual([[one]]);
});

it('leaves at once when the time is over already', () => {
  const said = saidUntil(100);
  vi.advanceTimersByTime(200);
  said.add(one);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([[one]]);
});

it('is refused, with what to do, when it takes more bytes than an attempt may say', () => {
  const said = saidUntil(60_000);
  const long = costOf({ amount: '1', label: '模'.repeat(200) });
  const most = Math.floor(COST_LIMITS.bytesPerAttempt / Buffer.byteLength(JSON.stringify(long)));
  for (let at = 0; at < most; at++) said.add(long);
  expect(() => said.add(long)).toThrow(/may say 1000 in 262144: sum up/);
  expect(said.take()).toHaveLength(most);
});
