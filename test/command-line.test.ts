import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { count, countAboveZero, positive } from './command-line.js';

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

const called = (...args: string[]) => {
  const script = ['--import', 'tsx', 'test/simulation/main.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...script, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
};

test('what cannot be meant is refused in words, without a stack trace', () => {
  expect(called('--nonsense')).toEqual({
    status: 2,
    stdout: '',
    stderr: "Unknown option '--nonsense'\n--help says what there is\n",
  });
  expect(called('--programs', '1,000').stderr).toBe(
    '--programs 1,000: a whole number is needed, without separators\n--help says what there is\n',
  );
});

test('what a script begins with is its help', () => {
  const { status, stdout } = called('--help');
  expect(status).toBe(0);
  expect(stdout).toMatch(/^`npm run simulate`: .*\n\n {2}--programs 2000 {3}how many\n/);
  expect(stdout).not.toContain('*/');
});
