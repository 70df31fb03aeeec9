import { CancellationScope, workflow, z } from 'perdure';
import { book, release } from './steps.js';

const PARTS = ['flight', 'hotel', 'car'] as const;

export default workflow({
  name: 'trip',
  description: 'Books flight, hotel and car; gives back what is booked when one fails or the trip is stopped',
  inputSchema: z
    .object({ traveller: z.string().min(1), soldOut: z.enum(PARTS).optional() })
    .meta({ examples: [{ traveller: 'ada', soldOut: 'car' }] }),
  outputSchema: z.object({ references: z.array(z.string()) }),
  fn: async ({ traveller, soldOut }) => {
    const booked: { part: (typeof PARTS)[number]; reference: string }[] = [];
    try {
      for (const part of PARTS) booked.push(await book({ part, traveller, soldOut: part === soldOut }));
    } catch (error) {
      // Also when the run is being stopped: in a scope that cancellation does not reach, the cleanup still runs.
      await CancellationScope.nonCancellable(async () => {
        for (const booking of booked.reverse()) await release(booking);
      });
      throw error;
    }
    return { references: booked.map(({ reference }) => reference) };
  },
});
