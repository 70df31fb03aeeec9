/**
 * The contract suite on an engine whose store fails: nothing of the contract is lost by it. A share of the cases, by the
 * seed; `npm run store-faults` runs all of them.
 */
import { afterAll, describe, expect, vi } from 'vitest';
import { contract, contractOfSome } from '../contract/suite.js';
import { share } from '../share.js';
import { Restarts, repeatWhatRestartsChange } from './attempts.js';
import { RandomFaults, randomSequence } from './plans.js';
import { startSupervised, type Totals } from './supervised-system.js';

const PERCENT = Number(process.env.PERDURE_STORE_FAULTS_PERCENT ?? 5);
const SEED = Number(process.env.PERDURE_STORE_FAULTS_SEED ?? 20_261_118);
const IS_WHOLE = process.env.PERDURE_STORE_FAULTS_WHOLE === '1';
/** Of the commits, such a share is copied and opened; unless it is asked for, no more of one system than its end has time for. */
const { PERDURE_STORE_FAULTS_COPIED: COPIED } = process.env;
const COPIED_SHARE = Number(COPIED ?? 0.01);
const MAX_COPIES = COPIED === undefined ? 8 : Number.POSITIVE_INFINITY;
/** Of the files of cases. */
const SHARE = share(4, 10);
const ENDS_ENGINE_EVERY = IS_WHOLE ? undefined : 50;

// What a restart interrupts takes longer.
vi.setConfig({ testTimeout: 60_000 });

describe(`with ${PERCENT} % store faults (seed ${SEED})`, () => {
  const faults = new RandomFaults(PERCENT, SEED, ENDS_ENGINE_EVERY);
  const totals: Totals = { lives: 0, failedStarts: 0, copies: 0, acknowledged: 0 };
  const restarts = new Restarts();
  repeatWhatRestartsChange(restarts, IS_WHOLE);
  const random = randomSequence(SEED);
  const startSystem = startSupervised(faults, totals, restarts, {
    isWanted: () => random() < COPIED_SHARE,
    atMost: MAX_COPIES,
  });
  if (IS_WHOLE) contract(startSystem, 1_000);
  else contractOfSome(startSystem, 1_000, SEED, SHARE);

  afterAll(() => {
    const { calls, faults: failed, counts } = faults;
    console.log(
      `store faults: ${JSON.stringify({ ...totals, calls, failed, triedAgain: restarts.excused.length, ...Object.fromEntries(counts) })}`,
    );
    for (const failure of restarts.excused) console.log(`tried again: ${failure}`);
    // Else the suite has proven nothing about faults.
    expect(failed).toBeGreaterThan(calls * (PERCENT / 100) * 0.5);
    if (PERCENT >= 1) expect(totals.lives).toBeGreaterThan(1);
  });
});
