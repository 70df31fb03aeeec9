import { FatalError, step, stepContext, z } from 'perdure';

export const charge = step({
  name: 'charge',
  description: 'Takes the money',
  inputSchema: z.object({ orderId: z.string(), cents: z.number().int() }),
  outputSchema: z.object({ receipt: z.string() }),
  options: { startToCloseTimeout: '30s', retry: { maximumAttempts: 5 } },
  fn: async ({ orderId, cents }) => {
    // A FatalError is not tried again.
    if (cents > 1_000_000) throw new FatalError(`Order ${orderId} is above the limit of the card`);
    return { receipt: `receipt-${stepContext().idempotencyKey}` };
  },
});

export const refund = step({
  name: 'refund',
  description: 'Gives the money back',
  inputSchema: z.object({ receipt: z.string() }),
  fn: async ({ receipt }) => {
    stepContext().log.info('refunded', { receipt });
  },
});

export const ship = step({
  name: 'ship',
  description: 'Hands the parcel over',
  inputSchema: z.string(),
  outputSchema: z.string(),
  fn: async (orderId) => `parcel-${orderId}`,
});
