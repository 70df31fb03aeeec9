import { step, stepContext, z } from 'perdure';

export const bill = step({
  name: 'bill',
  description: 'Bills one period',
  inputSchema: z.object({ customer: z.string(), period: z.number().int() }),
  outputSchema: z.string(),
  fn: async ({ customer, period }) => {
    stepContext().log.info('billed', { customer, period });
    return `invoice-${customer}-${period}`;
  },
});
