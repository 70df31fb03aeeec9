import { expect, test } from 'vitest';
import { MainThreadTime } from './main-thread-time.js';

const PASSED_MS = 200;

/** What counts of the second of two spans, in which the process has used so much. */
const taken = (usedMs: number, isWaitingForProcessor: boolean) => {
  const looks = [5_000, 5_000 + usedMs].map((used) => ({ usedMs: used, isWaitingForProcessor }));
  const time = new MainThreadTime(() => looks.shift());
  time.taken(PASSED_MS);
  return time.taken(PASSED_MS);
};

test('a thread that sleeps has had the time, whatever the process has used', () => {
  expect(taken(0, false)).toBe(PASSED_MS);
});

test('a thread that waits for the processor has had what its process has used', () => {
  expect(taken(150, true)).toBe(150);
});

test('a thread that waits while others of its process use several processors has had no more than the time', () => {
  expect(taken(2 * PASSED_MS, true)).toBe(PASSED_MS);
});

test('a thread that waits for other processes has had a third of the time', () => {
  expect(taken(10, true)).toBeCloseTo(PASSED_MS / 3);
});

test('all of the time counts on a system that does not tell', () => {
  expect(new MainThreadTime(() => undefined).taken(PASSED_MS)).toBe(PASSED_MS);
});
