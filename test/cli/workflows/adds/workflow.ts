import { sleep, workflow, z } from 'perdure';
import { add } from '../steps.js';

export default workflow({
  name: 'adds',
  description: 'Adds two numbers',
  aliases: ['plus'],
  inputSchema: z.object({ a: z.number(), b: z.number(), wait: z.string().default('0s') }),
  outputSchema: z.number(),
  fn: async ({ a, b, wait }) => {
    const sum = await add({ a, b });
    if (wait !== '0s') await sleep(wait);
    return sum;
  },
});
