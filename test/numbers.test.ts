import { expect, test } from 'vitest';
import { count, countAboveZero, positive } from './numbers.js';

test.each(['100k', '1,000', '', ' ', 'x', 'NaN', 'Infinity', '-1'])(
  'no number is taken for none: %j',
  (text) => {
    for (const read of [positive, count, countAboveZero]) {
      expect(() => read('--programs', text)).toThrow(`--programs ${text}: a `);
    }
  },
);

test('nothing is a count, but no extent', () => {
  expect(count('--kills', '0')).toBe(0);
  expect(() => countAboveZero('--stride', '0')).toThrow('--stride 0: a number above 0');
  expect(() => countAboveZero('--stride', '1.5')).toThrow('--stride 1.5: a whole number');
});

test('numbers are read', () => {
  expect([positive('--minutes', '0.5'), count('--kills', '1000'), countAboveZero('--jobs', '2')]).toEqual([
    0.5, 1_000, 2,
  ]);
});
