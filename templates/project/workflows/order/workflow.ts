import { condition, defineQuery, defineSignal, setHandler, workflow, z } from 'perdure';
import { charge, refund, ship } from './steps.js';

const approve = defineSignal('approve', { inputSchema: z.object({ by: z.string() }) });
const stage = defineQuery('stage', { outputSchema: z.string() });

export default workflow({
  name: 'order',
  description: 'Charges, waits for a person to approve, ships; gives the money back when nobody does in time',
  inputSchema: z
    .object({
      orderId: z.string().min(1),
      cents: z.number().int().positive(),
      approveWithin: z.string().default('3 days'),
    })
    .meta({ examples: [{ orderId: 'A-1', cents: 1999, approveWithin: '10 seconds' }] }),
  outputSchema: z.object({ outcome: z.enum(['shipped', 'refunded']), tracking: z.string().optional() }),
  fn: async ({ orderId, cents, approveWithin }) => {
    let approvedBy: string | undefined;
    let at = 'charging';
    setHandler(approve, ({ by }) => {
      approvedBy = by;
    });
    setHandler(stage, () => at);

    const { receipt } = await charge({ orderId, cents });
    at = 'waiting for approval';
    if (!(await condition(() => approvedBy !== undefined, approveWithin))) {
      at = 'refunding';
      await refund({ receipt });
      return { outcome: 'refunded' };
    }
    at = 'shipping';
    return { outcome: 'shipped', tracking: await ship(orderId) };
  },
});
