import { step, stepContext, z } from 'perdure';

export const measure = step({
  name: 'measure',
  description: 'How long a text is',
  inputSchema: z.object({ what: z.string(), failures: z.int() }),
  outputSchema: z.number(),
  options: { retry: { initialInterval: '10ms', maximumAttempts: 5 } },
  fn: async ({ what, failures }) => {
    if (stepContext().attempt <= failures) throw new Error('not yet');
    return what.length;
  },
});

export const finish = step({ name: 'finish', inputSchema: z.number(), fn: async () => {} });
