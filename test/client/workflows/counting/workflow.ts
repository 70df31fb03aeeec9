import { condition, defineQuery, defineSignal, setHandler, workflow, z } from 'perdure';
import { count } from './steps.js';

const go = defineSignal('go');
const isWaiting = defineQuery<boolean>('isWaiting');

/** Counts to a number in several runs, one step for each, and waits in the middle until it is told to go on. */
export default workflow({
  name: 'counting',
  inputSchema: z.object({
    to: z.number().int(),
    perRun: z.number().int().default(5),
    from: z.number().int().default(0),
    waitAt: z.number().int().optional(),
  }),
  outputSchema: z.object({ counted: z.number() }),
  signals: { go: {} },
  queries: { isWaiting: { outputSchema: z.boolean() } },
  fn: async (input, context) => {
    let isGoing = false;
    setHandler(go, () => {
      isGoing = true;
    });
    let n = input.from;
    setHandler(isWaiting, () => n === input.waitAt && !isGoing);
    for (let inThisRun = 0; n < input.to; inThisRun++) {
      if (inThisRun === input.perRun) return context.control.continueAsNew({ ...input, from: n });
      n = await count(n);
      if (n === input.waitAt) await condition(() => isGoing);
    }
    return { counted: n };
  },
});
