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

/** Broken in this version; repaired in the next. */
export const repaired = step({
  name: 'repaired',
  inputSchema: place,
  options: { retry: { initialInterval: '50ms', backoffCoefficient: 1, maximumAttempts: 0 } },
  fn: async (input): Promise<string> => {
    await record(input, 'ran', 'broken');
    throw new Error('broken in the first version');
  },
});

/** Takes grams; the newcomer wants a weight with its unit. */
export const weigh = step({
  name: 'weigh',
  inputSchema: place.extend({ grams: z.number() }),
  fn: async (input) => {
    await record(input, 'ran', 'first');
    return 'first';
  },
});
