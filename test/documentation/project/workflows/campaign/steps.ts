import { step, z } from 'perdure';

export const prepare = step({
  name: 'prepare',
  inputSchema: z.number().int(),
  outputSchema: z.string(),
  options: { retry: { maximumAttempts: 1 } },
  fn: async (recipient) => {
    if (recipient % 50 === 13) throw new Error(`recipient ${recipient} has no address`);
    return `letter ${recipient}`;
  },
});

export const remind = step({
  name: 'remind',
  inputSchema: z.object({ approver: z.string(), reminder: z.number().int() }),
  fn: async ({ approver, reminder }) => `reminder ${reminder} for ${approver}`,
});

export const send = step({
  name: 'send',
  inputSchema: z.string(),
  outputSchema: z.boolean(),
  fn: async (letter) => letter.startsWith('letter'),
});
