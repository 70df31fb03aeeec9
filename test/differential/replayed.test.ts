/** Generated programs come out the same whether a worker keeps its runs between turns or replays each from its first event. */
import { expect, test } from 'vitest';
import { share } from '../share.js';
import { campaign } from './campaign.js';
import { startPair } from './pairs.js';

const PROGRAMS = share(25, 200);

test('generated programs come out the same with and without the cache', { timeout: 300_000 }, async () => {
  const from = 1 + (Date.now() % 1_000_000_000);
  console.log(`seeds ${from} to ${from + PROGRAMS - 1}, which are new`);
  const pair = await startPair(['embedded', 'replayed']);
  try {
    const { coverage, failed, report } = await campaign(pair, {
      seeds: Array.from({ length: PROGRAMS }, (_, index) => from + index),
      atOnce: 12,
      shrinkMs: 60_000,
      log: console.log,
    });
    console.log(String(coverage));
    expect(failed, report).toEqual([]);
  } finally {
    await pair.stop();
  }
});
