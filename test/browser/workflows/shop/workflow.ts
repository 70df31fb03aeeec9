import { condition, defineSignal, setHandler, sleep, workflow, z } from 'perdure';
import { advertise, bid, charge, rent, reserve, ship } from './steps.js';

const approve = defineSignal<[{ by: string }]>('approve');

/** Charges, waits to be approved where it has to, ships. */
export const sale = workflow({
  name: 'sale',
  description: 'Charges, waits for somebody to approve, ships',
  inputSchema: z.object({
    cents: z.number().int(),
    busyTimes: z.number().int().default(0),
    needsApproval: z.boolean().default(false),
    breaks: z.boolean().default(false),
    note: z.string().default(''),
  }),
  signals: { approve: { description: 'Lets it go', inputSchema: z.object({ by: z.string() }) } },
  fn: async ({ cents, busyTimes, needsApproval, breaks }) => {
    let approvedBy: string | undefined;
    setHandler(approve, ({ by }) => {
      approvedBy = by;
    });
    const { receipt } = await charge({ cents, busyTimes });
    if (needsApproval) await condition(() => approvedBy !== undefined);
    await sleep('20ms');
    return ship({ receipt, breaks });
  },
});

export const basket = workflow({
  name: 'basket',
  description: 'Has a sale as its child',
  inputSchema: z.object({ child: z.string(), needsApproval: z.boolean().default(false) }),
  fn: async ({ child, needsApproval }) =>
    sale({ cents: 5, note: 'of a basket', needsApproval }, { workflowId: child }),
});

export const market = workflow({
  name: 'market',
  description: 'Has a basket as its child',
  inputSchema: z.object({ child: z.string() }),
  fn: async ({ child }) => basket({ child, needsApproval: true }),
});

export const rounds = workflow({
  name: 'rounds',
  description: 'Goes on as a new run once',
  inputSchema: z.object({ left: z.number() }),
  fn: async ({ left }, context) => {
    if (left > 0) return context.control.continueAsNew({ left: left - 1 });
    return 'over';
  },
});

export const nothing = workflow({
  name: 'nothing',
  description: 'Ends at once',
  fn: async () => 'nothing',
});

export const reservation = workflow({
  name: 'reservation',
  description: 'Has a step that fails and is to be tried again',
  fn: async () => reserve(),
});

export const campaign = workflow({
  name: 'campaign',
  description: 'Spends 3 USD in four steps',
  fn: async () => {
    for (let times = 0; times < 4; times++) await advertise();
  },
});

export const billboards = workflow({
  name: 'billboards',
  description: 'Says 6,000 times that it spends 0.001 USD, in six steps',
  fn: async () => {
    await Promise.all(Array.from({ length: 6 }, () => rent()));
  },
});

export const auction = workflow({
  name: 'auction',
  description: 'Has one step that spends until it is stopped',
  fn: async () => bid(),
});
