import { step, z } from 'perdure';

export const count = step({
  name: 'count',
  inputSchema: z.number(),
  outputSchema: z.number(),
  fn: async (n) => n + 1,
});
