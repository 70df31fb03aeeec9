import { expect, it } from 'vitest';
import { isWholeMs, toMs } from './duration.js';

it.each([
  [0, 0],
  [1, 1],
  [0.1, 1],
  [1.5, 2],
  ['1.5 ms', 2],
  ['0.0001s', 1],
  ['1.0001s', 1_001],
  ['2 minutes', 120_000],
])('%s is rounded up to whole milliseconds, so that nothing ends early', (duration, ms) => {
  expect(toMs(duration)).toBe(ms);
  expect(isWholeMs(toMs(duration))).toBe(true);
});

it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
  '%s is no instant to count from',
  (value) => {
    expect(isWholeMs(value)).toBe(false);
  },
);

it.each([
  [Number.NaN, 'sleep() NaN is not a duration: give milliseconds'],
  [Number.NEGATIVE_INFINITY, 'sleep() -Infinity is not a duration'],
  [null, 'sleep() null is not a duration'],
  [undefined, 'sleep() undefined is not a duration'],
  [5n, 'sleep() 5n is not a duration'],
  ['soon', 'sleep() "soon" is not a duration'],
  [Number.POSITIVE_INFINITY, 'sleep() Infinity is longer than 1000 years'],
  [1e15, 'sleep() 1000000000000000 is longer than 1000 years'],
  ['2000 years', 'sleep() "2000 years" is longer than 1000 years'],
])('%s is refused as what was given', (duration, message) => {
  expect(() => toMs(duration as never, 'sleep()')).toThrow(message);
});
