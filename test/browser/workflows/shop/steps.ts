import { step, stepContext, z } from 'perdure';

export const charge = step({
  name: 'charge',
  description: 'Takes the money; the bank may be busy at first',
  inputSchema: z.object({ cents: z.number(), busyTimes: z.number() }),
  outputSchema: z.object({ receipt: z.string() }),
  options: { retry: { initialInterval: '50ms', backoffCoefficient: 1 } },
  fn: async ({ cents, busyTimes }) => {
    if (stepContext().attempt <= busyTimes) throw new Error('the bank is busy');
    return { receipt: `receipt for ${cents}` };
  },
});

export const ship = step({
  name: 'ship',
  description: 'Sends it off',
  inputSchema: z.object({ receipt: z.string(), breaks: z.boolean() }),
  outputSchema: z.object({ tracking: z.string() }),
  options: { retry: { maximumAttempts: 1 } },
  fn: async ({ receipt, breaks }) => {
    if (breaks) throw new Error('the parcel is lost', { cause: new TypeError('no address on it') });
    return { tracking: `tracking of ${receipt}` };
  },
});

export const reserve = step({
  name: 'reserve',
  description: 'Never works, and is tried again only after an hour',
  options: { retry: { initialInterval: '1 hour', maximumAttempts: 5 } },
  fn: async () => {
    throw new Error('the shelf is empty');
  },
});

export const advertise = step({
  name: 'advertise',
  description: 'Spends some money',
  fn: async () => {
    stepContext().cost({ kind: 'advertisement', currency: 'USD', amount: '0.75' });
  },
});

export const rent = step({
  name: 'rent',
  description: 'Spends 1 USD, a thousandth at a time',
  fn: async () => {
    const { cost } = stepContext();
    for (let times = 0; times < 1_000; times++) cost({ kind: 'rent', amount: '0.001' });
  },
});

export const bid = step({
  name: 'bid',
  description: 'Spends a little now and then, until it is stopped',
  fn: async () => {
    const { cost, signal } = stepContext();
    for (; !signal.aborted; await new Promise((resolve) => setTimeout(resolve, 500))) {
      cost({ kind: 'bid', amount: '0.01' });
    }
  },
});
