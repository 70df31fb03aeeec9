/**
 * The loop over the calls of the scenario, a share of it by the seed: `npm run store-faults` fails every call in every way.
 * The files are copied after every commit of a run without faults, and after some of the others, and an engine goes on from
 * each copy.
 */
import { expect, it } from 'vitest';
import { FAULTS } from './faulty-database.js';
import { failing, trial } from './loop.js';
import { randomSequence } from './plans.js';

const SEED = 20_261_115;
/** One in so many calls is failed. */
const STRIDE = 8;
/** Trials side by side: most of their time they wait. */
const AT_ONCE = 4;
const COPIED = 0.02;

it('goes on from what every single commit has left', { timeout: 120_000 }, async () => {
  const { problems, copies } = await trial(failing(Number.POSITIVE_INFINITY, 'busy', false), () => true);
  expect(problems).toEqual([]);
  expect(copies).toBeGreaterThan(15);
});

it(`comes to the same end whichever call fails (seed ${SEED})`, { timeout: 120_000 }, async () => {
  const random = randomSequence(SEED);
  const problems: string[] = [];
  const hits = new Set<string>();
  let at = 1 + Math.floor(random() * STRIDE);
  let isOver = false;
  let restarts = 0;
  let copies = 0;
  const lane = async () => {
    while (!isOver) {
      const number = at;
      at += STRIDE;
      // By its number, not by whose turn it is: the lanes overtake each other.
      const chance = randomSequence(SEED + number);
      const fault = FAULTS[Math.floor(chance() * FAULTS.length)]!;
      const isSticky = chance() < 0.5;
      const { hit, lives, ...result } = await trial(
        failing(number, fault, isSticky),
        () => chance() < COPIED,
      );
      // The scenario has two lives by itself.
      restarts += lives - 2;
      copies += result.copies;
      if (hit === undefined) isOver = true;
      else hits.add(`${hit.split(' ')[0]} ${fault}`);
      for (const problem of result.problems) {
        problems.push(`call ${number} (${hit}), ${isSticky ? 'sticky ' : ''}${fault}: ${problem}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  expect(problems).toEqual([]);
  // Else nothing was proven.
  expect(hits.size).toBeGreaterThan(10);
  expect(restarts).toBeGreaterThan(2);
  expect(copies).toBeGreaterThan(3);
});
