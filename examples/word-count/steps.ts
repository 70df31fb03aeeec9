import { step, z } from 'perdure';

export const countWords = step({
  name: 'countWords',
  description: 'Counts the words of one text',
  inputSchema: z.string(),
  outputSchema: z.number().int(),
  fn: async (text) => text.split(/\s+/).filter((word) => word !== '').length,
});
