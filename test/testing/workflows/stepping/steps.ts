import { setTimeout as delay } from 'node:timers/promises';
import { FatalError, step, stepContext, z } from 'perdure';

let noted = 0;

export const note = step({
  name: 'note',
  inputSchema: z.string(),
  fn: async () => ++noted,
});

export const fetchPrice = step({
  name: 'fetchPrice',
  inputSchema: z.object({ product: z.string(), currency: z.string().default('EUR') }),
  outputSchema: z.object({ cents: z.number() }),
  options: {
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: 3, initialInterval: '10 s', backoffCoefficient: 2 },
  },
  fn: async () => {
    throw new FatalError('there is no shop');
  },
});

/** Takes real time. */
export const takesTime = step({
  name: 'takesTime',
  fn: async (ms: number) => {
    await delay(ms);
    return ms;
  },
});

export const whoAmI = step({
  name: 'whoAmI',
  fn: async () => {
    const { workflowId, stepName, idempotencyKey } = stepContext();
    return { workflowId, stepName, hasKey: idempotencyKey !== '' };
  },
});

export const invite = step({ name: 'invite', fn: async (_urls: { one: string; other: string }) => {} });

export const beating = step({
  name: 'beating',
  options: { heartbeatTimeout: '10 seconds' },
  fn: async (): Promise<number> => 0,
});
