import { RetryAfterError, step, stepContext, z } from 'perdure';
import { place, record } from '../shared/ledger.js';

const input = place.extend({
  /** Attempts that ask for another one before one succeeds. */
  refusals: z.number(),
  /** Milliseconds from now; the name of a date says that it is given as one. */
  after: z.number(),
  asDate: z.boolean().default(false),
});

async function asksForTime({ refusals, after, asDate, ...where }: z.infer<typeof input>): Promise<number> {
  const { attempt } = stepContext();
  await record(where, 'ran');
  if (attempt > refusals) return attempt;
  throw new RetryAfterError(`busy ${attempt}`, asDate ? new Date(Date.now() + after) : after);
}

/** By its policy alone nothing would happen within a test. */
export const busy = step({
  name: 'busy',
  inputSchema: input,
  options: { retry: { initialInterval: '1h', maximumInterval: '1h', maximumAttempts: 3 } },
  fn: asksForTime,
});

/** By its policy alone it would be tried again at once. */
export const hasty = step({
  name: 'hasty',
  inputSchema: input,
  options: { retry: { initialInterval: 1, maximumInterval: 2, maximumAttempts: 3 } },
  fn: asksForTime,
});

class OwnError extends Error {}

export const throwing = step({
  name: 'throwing',
  options: { retry: { maximumAttempts: 1 } },
  fn: async (kind: 'Error' | 'OwnError' | 'TypeError') => {
    if (kind === 'OwnError') throw new OwnError('thrown');
    throw kind === 'TypeError' ? new TypeError('thrown') : new Error('thrown');
  },
});
