import { FatalError, step, z } from 'perdure';

export const add = step({
  name: 'add',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  fn: async ({ a, b }) => a + b,
});

class CardError extends FatalError {
  override name = 'CardError';
}

export const refuse = step({
  name: 'refuse',
  fn: async () => {
    throw new CardError('declined');
  },
});
