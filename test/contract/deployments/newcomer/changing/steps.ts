import { step, z } from 'perdure';
import { place, record } from '../../../workflows/shared/ledger.js';

export const oldWay = step({
  name: 'oldWay',
  inputSchema: place,
  fn: async (input) => {
    await record(input, 'ran', 'old');
    return 'old';
  },
});

/** One attempt is all it has, so one that was lost to a worker which does not know it would fail the run. */
export const newWay = step({
  name: 'newWay',
  inputSchema: place,
  options: { retry: { maximumAttempts: 1 } },
  fn: async (input) => {
    await record(input, 'ran', 'new');
    return 'new';
  },
});

export const onceOnly = step({
  name: 'onceOnly',
  inputSchema: place,
  options: { retry: { maximumAttempts: 1 } },
  fn: async (input) => {
    await record(input, 'ran', 'once');
    return 'once';
  },
});

/** What the first took as grams. */
export const weigh = step({
  name: 'weigh',
  inputSchema: place.extend({ weight: z.string() }),
  fn: async (input) => {
    await record(input, 'ran', 'newcomer');
    return 'newcomer';
  },
});
