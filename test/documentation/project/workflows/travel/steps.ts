import { FatalError, step, stepContext, z } from 'perdure';

const part = z.enum(['flight', 'hotel', 'car']);

export const book = step({
  name: 'book',
  description: 'Books one part of a trip',
  inputSchema: z.object({ part, soldOut: z.boolean() }),
  outputSchema: z.string(),
  options: { startToCloseTimeout: '30s', retry: { maximumAttempts: 3, initialInterval: '10ms' } },
  fn: async (input) => {
    const { idempotencyKey, attempt } = stepContext();
    if (input.soldOut) throw new FatalError(`no ${input.part} left`);
    if (attempt === 1) throw new Error('the booking system is busy');
    return `${input.part}-${idempotencyKey.slice(0, 8)}`;
  },
});

export const release = step({
  name: 'release',
  inputSchema: z.string(),
  outputSchema: z.string(),
  fn: async (reference) => `released ${reference}`,
});
