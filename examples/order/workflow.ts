import { condition, defineQuery, defineSignal, setHandler, workflow, z } from 'perdure';
import { charge, refund, ship } from './steps.js';

const approve = defineSignal<[{ by: string }]>('approve');
const status = defineQuery<string>('status');

export default workflow({
  name: 'order',
  description: 'Charges, waits for a person to approve, ships; gives the money back when nobody does in time',
  inputSchema: z
    .object({
      orderId: z.string().min(1),
      cents: z.number().int().positive(),
      approveWithin: z.string().default('3 days'),
    })
    .meta({ examples: [{ orderId: 'A-1', cents: 1999, approveWithin: '2 seconds' }] }),
  outputSchema: z.object({
    outcome: z.enum(['shipped', 'refunded']),
    tracking: z.string().optional(),
    approvedBy: z.string().optional(),
  }),
  signals: {
    approve: { description: 'A person lets the order go', inputSchema: z.object({ by: z.string() }) },
  },
  queries: { status: { description: 'Where the order stands', outputSchema: z.string() } },
  fn: async ({ orderId, cents, approveWithin }) => {
    let approvedBy: string | undefined;
    let stage = 'charging';
    setHandler(approve, ({ by }) => {
      approvedBy = by;
    });
    setHandler(status, () => stage);

    const { receipt } = await charge({ orderId, cents });
    stage = 'waiting for approval';
    if (!(await condition(() => approvedBy !== undefined, approveWithin))) {
      stage = 'refunding';
      await refund({ receipt });
      return { outcome: 'refunded' as const };
    }
    stage = 'shipping';
    return { outcome: 'shipped' as const, tracking: await ship(orderId), approvedBy };
  },
});
