import { step, stepContext, z } from 'perdure';

export const ask = step({
  name: 'ask',
  inputSchema: z.object({ reviewer: z.url(), text: z.string(), answerTo: z.url() }),
  fn: async ({ reviewer, ...question }) => {
    const { signal } = stepContext();
    const response = await fetch(reviewer, { method: 'POST', body: JSON.stringify(question), signal });
    if (!response.ok) throw new Error(`the reviewer answered ${response.status}`);
  },
});
