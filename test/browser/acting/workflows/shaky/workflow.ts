/** Fails as often as it is told to, so that two runs of it differ. */
import { workflow, z } from 'perdure';
import { finish, measure } from './steps.js';

export default workflow({
  name: 'shaky',
  description: 'Measures, more than once if it has to',
  inputSchema: z.object({
    of: z.array(z.string()),
    failures: z.int().min(0).default(0),
    isFinished: z.boolean().default(true),
  }),
  outputSchema: z.object({ total: z.number() }),
  fn: async ({ of, failures, isFinished }) => {
    let total = 0;
    for (const what of of) total += await measure({ what, failures });
    if (isFinished) await finish(total);
    return { total };
  },
});
