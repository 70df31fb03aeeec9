import { FatalError, step, stepContext, z } from 'perdure';

const Part = z.enum(['flight', 'hotel', 'car']);

export const book = step({
  name: 'book',
  description: 'Books one part of the trip',
  inputSchema: z.object({ part: Part, traveller: z.string(), soldOut: z.boolean() }),
  outputSchema: z.object({ part: Part, reference: z.string() }),
  fn: async ({ part, traveller, soldOut }) => {
    if (soldOut) throw new FatalError(`There is no ${part} left`);
    return { part, reference: `${part}-${traveller}-${stepContext().idempotencyKey}` };
  },
});

export const release = step({
  name: 'release',
  description: 'Gives a booking back',
  inputSchema: z.object({ part: Part, reference: z.string() }),
  options: { retry: { maximumAttempts: 10 } },
  fn: async ({ reference }) => {
    stepContext().log.info('released', { reference });
  },
});
