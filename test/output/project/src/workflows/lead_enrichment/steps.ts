import { Logger, step, z } from 'perdure/output';

export const improveSummary = step({
  name: 'improve_summary',
  description: 'Adds a word',
  inputSchema: z.string(),
  outputSchema: z.string(),
  options: { activityOptions: { startToCloseTimeout: '5s' } },
  fn: async (summary) => {
    Logger.http('Improving', { summary });
    return `${summary} indeed`;
  },
});
