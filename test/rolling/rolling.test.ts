/** A share of `npm run rolling`. */
import { expect, test } from 'vitest';
import { roll } from './campaign.js';

test('while workers of three versions come and go under load, no run fails or is held back for nothing', async () => {
  const { problems, runs, events } = await roll({ seed: 7, ms: 10_000 });
  expect(problems).toEqual([]);
  expect(runs).toBeGreaterThan(20);
  // All of it has happened.
  expect(Object.keys(events)).toEqual(
    expect.arrayContaining(['killed', 'ended in order', 'started one', 'started two', 'started three']),
  );
}, 180_000);
