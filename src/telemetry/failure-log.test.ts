import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Log } from '../core/log.js';
import type { FailedAttempt, FailedRun } from '../engine.js';
import { ATTEMPT_FAILED, FailureLog, MORE_FAILED, RUN_FAILED, TOLD } from './failure-log.js';

let lines: [level: string, fields: object, message: string][];
let failures: FailureLog;
beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const say = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  const log: Log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  failures = new FailureLog(log);
});
afterEach(() => vi.useRealTimers());

const RUN = { workflowId: 'w', runId: '01890000-0000-7000-8000-0123456789ab', workflowType: 'order' };
const ATTEMPT: FailedAttempt = {
  ...RUN,
  stepName: 'charge',
  attempt: 2,
  maximumAttempts: 5,
  nextAttemptAt: Date.UTC(2030, 0, 1),
  failure: {
    kind: 'application',
    type: 'CardDeclined',
    message: 'no money',
    stackTrace: 'at /home',
    properties: { cardNumber: '4111' },
  },
};
const FAILED: FailedRun = {
  ...RUN,
  status: 'failed',
  failure: { ...ATTEMPT.failure, activityType: 'order#charge' },
};

it('says what failed, with what, and when it is tried again', () => {
  failures.attemptFailed(ATTEMPT);
  failures.attemptFailed({ ...ATTEMPT, attempt: 5, maximumAttempts: 0, nextAttemptAt: null });
  failures.runFailed(FAILED);
  const error = { name: 'CardDeclined', message: 'no money' };
  const nextAttemptAt = '2030-01-01T00:00:00.000Z';
  expect(lines).toEqual([
    [
      'warn',
      { ...RUN, step: 'charge', attempt: 2, maximumAttempts: 5, nextAttemptAt, error },
      ATTEMPT_FAILED,
    ],
    ['warn', { ...RUN, step: 'charge', attempt: 5, nextAttemptAt: null, error }, ATTEMPT_FAILED],
    ['error', { ...RUN, status: 'failed', step: 'charge', error }, RUN_FAILED],
  ]);
});

it('cuts what an error has to say', () => {
  failures.runFailed({ ...FAILED, failure: { ...FAILED.failure, message: 'x'.repeat(100_000) } });
  expect(JSON.stringify(lines).length).toBeLessThan(1_000);
});

it('tells a bounded number one by one, of each kind, and how many more there were', () => {
  for (let i = 0; i < 10_000; i++) failures.attemptFailed(ATTEMPT);
  expect(lines).toHaveLength(TOLD.lines);
  // Runs are not drowned by attempts.
  failures.runFailed(FAILED);
  expect(lines).toHaveLength(TOLD.lines + 1);
  vi.advanceTimersByTime(TOLD.withinMs);
  expect(lines.at(-1)).toEqual([
    'warn',
    { attempts: 10_000 - TOLD.lines, runs: 0, withinMs: TOLD.withinMs },
    MORE_FAILED,
  ]);
  // And then begins anew; what was told in full needs no summary.
  failures.attemptFailed(ATTEMPT);
  expect(lines.at(-1)?.[2]).toBe(ATTEMPT_FAILED);
  vi.advanceTimersByTime(10 * TOLD.withinMs);
  expect(lines.at(-1)?.[2]).toBe(ATTEMPT_FAILED);
  expect(vi.getTimerCount()).toBe(0);
});
