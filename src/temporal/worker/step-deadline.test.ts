import { afterEach, expect, test, vi } from 'vitest';
import { attemptTimeoutMs } from './step-deadline.js';

afterEach(() => vi.useRealTimers());

const SCHEDULED = Date.UTC(2024, 0, 1);
const timing = (attempt: Partial<Parameters<typeof attemptTimeoutMs>[0]>) => ({
  startToCloseTimeoutMs: 10_000,
  scheduleToCloseTimeoutMs: 30_000,
  scheduledTimestampMs: SCHEDULED,
  currentAttemptScheduledTimestampMs: SCHEDULED,
  ...attempt,
});

test.each([
  ['the first attempt has its own time', {}, 10_000],
  ['a late one what is left', { currentAttemptScheduledTimestampMs: SCHEDULED + 25_000 }, 5_000],
  ['never less than nothing', { currentAttemptScheduledTimestampMs: SCHEDULED + 31_000 }, 1],
  ['without a bound on all attempts, its own', { scheduleToCloseTimeoutMs: 0 }, 10_000],
  ['without one of its own, that on all', { startToCloseTimeoutMs: 0 }, 30_000],
])('%s', (_what, attempt, expected) => {
  for (const skewMs of [0, 3_600_000, -3_600_000]) {
    vi.setSystemTime(SCHEDULED + skewMs);
    expect(attemptTimeoutMs(timing(attempt))).toBe(expected);
  }
});
