import { step, z } from 'perdure';

class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
  readonly card = 'CARD_CANARY';
}

export const charge = step({
  name: 'charge',
  inputSchema: z.string(),
  options: { retry: { initialInterval: 10, maximumAttempts: 2 } },
  fn: async () => {
    throw new CardDeclined('no money');
  },
});

export const refuse = step({
  name: 'refuse',
  options: { retry: { maximumAttempts: 1 } },
  fn: async () => {
    throw new Error('refused');
  },
});
