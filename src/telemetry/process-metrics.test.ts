import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Metrics } from './index.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const NAMES = ['', '_min', '_max', '_mean', '_stddev', '_p50', '_p90', '_p99'].map(
  (name) => `nodejs_eventloop_lag${name}_seconds`,
);

/** By the name, in milliseconds. */
async function lagIn(metrics: Metrics): Promise<Record<string, number>> {
  const text = await metrics.text();
  const found = text.matchAll(/^(nodejs_eventloop_lag\w*)_seconds (\S+)$/gm);
  return Object.fromEntries([...found].map(([, name, value]) => [`${name}_seconds`, 1_000 * Number(value)]));
}

/** Nothing happens for so long, and all that was due meanwhile is late. */
function blocked(ms: number): void {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);
  vi.advanceTimersToNextTimer();
  vi.restoreAllMocks();
}

it('has every name once, and nothing of the loop that is on time', async () => {
  const metrics = new Metrics({ ofProcess: true });
  vi.advanceTimersByTime(5_000);
  const lag = await lagIn(metrics);
  expect(Object.keys(lag).sort()).toEqual([...NAMES].sort());
  for (const name of NAMES) expect(lag[name], name).toBeLessThan(0.01);
  expect((await metrics.text()).match(/^# TYPE nodejs_eventloop_lag_seconds/gm)).toHaveLength(1);
});

it('tells how long the loop was kept, once', async () => {
  const metrics = new Metrics({ ofProcess: true });
  vi.advanceTimersByTime(4_500);
  blocked(900);
  const lag = await lagIn(metrics);
  expect(lag.nodejs_eventloop_lag_seconds).toBeCloseTo(400, 0);
  expect(lag.nodejs_eventloop_lag_max_seconds).toBeCloseTo(400, 0);
  expect(lag.nodejs_eventloop_lag_p99_seconds).toBeCloseTo(400, 0);
  expect(lag.nodejs_eventloop_lag_p50_seconds).toBeLessThan(1);
  // Nobody has looked since.
  expect(await lagIn(metrics)).toEqual(lag);
  vi.advanceTimersByTime(5_000);
  expect((await lagIn(metrics)).nodejs_eventloop_lag_max_seconds).toBeLessThan(1);
});
