import { CancellationScope, log, StepError, workflow, z } from 'perdure';
import { book, release } from './steps.js';

const PARTS = ['flight', 'hotel', 'car'] as const;

/** A saga: what is booked is given back when a later part fails, or when the trip is stopped. */
export default workflow({
  name: 'travel',
  description: 'Books a trip, or nothing',
  inputSchema: z.object({ soldOut: z.enum(PARTS).optional() }),
  outputSchema: z.object({
    booked: z.array(z.string()),
    released: z.array(z.string()),
    because: z.string().nullable(),
  }),
  fn: async ({ soldOut }) => {
    const booked: string[] = [];
    const released: string[] = [];
    try {
      for (const part of PARTS) booked.push(await book({ part, soldOut: part === soldOut }));
    } catch (error) {
      await CancellationScope.nonCancellable(async () => {
        for (const reference of [...booked].reverse()) released.push(await release(reference));
      });
      if (!(error instanceof StepError)) throw error;
      log.warn('the trip was given back', { because: error.message });
      return { booked: [], released, because: `${error.activityType}: ${error.message}` };
    }
    return { booked, released, because: null };
  },
});
