import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { CHECKLIST } from './checklist.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** First and last number of each part, and those that the list does not have. */
const PARTS: [letter: string, last: number, missing: number[]][] = [
  ['A', 17, [6, 9]],
  ['T', 21, [11, 19]],
  ['S', 10, []],
  ['N', 11, [5]],
  ['P', 7, []],
  ['O', 9, []],
  ['W', 6, []],
  ['R', 6, []],
  ['V', 6, []],
  ['F', 46, [13, 14, 28, 37, 43]],
];

it('has every row', () => {
  const wanted = PARTS.flatMap(([letter, last, missing]) =>
    Array.from({ length: last }, (_, i) => i + 1)
      .filter((number) => !missing.includes(number))
      .map((number) => `${letter}${String(number).padStart(2, '0')}`),
  );
  expect(Object.keys(CHECKLIST)).toEqual(wanted);
});

it.each(Object.entries(CHECKLIST))(
  '%s is shown by tests that are there, or has its reason',
  (_id, { shown, because }) => {
    expect((shown?.length ?? 0) > 0 || (because?.length ?? 0) > 20).toBe(true);
    for (const [file, title] of shown ?? []) {
      expect(title.length, `"${title}" is enough to find a test by`).toBeGreaterThan(6);
      expect(existsSync(ROOT + file), `${file} is there`).toBe(true);
      expect(readFileSync(ROOT + file, 'utf8').includes(title), `${file} has "${title}"`).toBe(true);
    }
  },
);
