/**
 * Generated programs come out the same on the embedded engine and on Temporal, which is the oracle: results, statuses,
 * errors, answers and histories without the events of turns. The long run is `npm run differential`.
 */
import { expect, test } from 'vitest';
import { share } from '../share.js';
import { describeTemporal } from '../temporal/required.js';
import { campaign } from './campaign.js';
import { startPair } from './pairs.js';

/** Always the same, so that a red build is red again. */
const FIXED = Array.from({ length: share(100, 300) }, (_, index) => 1 + index);
/** Programs with budgets: they take long, since whoever waits is paid for. */
const WITH_BUDGETS = FIXED.slice(0, share(15, 60));
/** New ones every time: what they find is reproduced by the seed that is printed. */
const FRESH = share(10, 20);

describeTemporal('generated programs', () => {
  test('come out the same on both engines', { timeout: 1_200_000 }, async () => {
    const from = 1_000 + (Date.now() % 1_000_000_000);
    const fresh = Array.from({ length: FRESH }, (_, index) => from + index);
    console.log(`seeds ${FIXED[0]} to ${FIXED.at(-1)}, and ${from} to ${from + FRESH - 1}, which are new`);
    const pair = await startPair(['embedded', 'temporal']);
    try {
      const options = { atOnce: 12, shrinkMs: 120_000, log: console.log };
      const parts = [
        { seeds: [...FIXED, ...fresh], hasBudgets: false },
        { seeds: WITH_BUDGETS, hasBudgets: true },
      ];
      for (const part of parts) {
        const { coverage, failed, report } = await campaign(pair, { ...options, ...part });
        console.log(String(coverage));
        expect(failed, report).toEqual([]);
      }
    } finally {
      await pair.stop();
    }
  });
});
