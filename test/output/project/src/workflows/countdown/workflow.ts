import { continueAsNew, workflow, z } from 'perdure/output';

/** From deep inside, as it can be called anywhere. */
async function next(from: number): Promise<void> {
  if (from > 0) await continueAsNew({ from: from - 1 });
}

export default workflow({
  name: 'countdown',
  inputSchema: z.object({ from: z.number() }),
  outputSchema: z.string(),
  fn: async ({ from }) => {
    await next(from);
    return 'lift off';
  },
});
