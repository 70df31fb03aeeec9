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

export const stumble = step({
  name: 'stumble',
  options: { retry: { initialInterval: '2s', backoffCoefficient: 1, maximumAttempts: 0 } },
  fn: async () => {
    throw new Error('over a stone');
  },
});
