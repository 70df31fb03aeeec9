import { condition, defineQuery, defineSignal, setHandler, workflow, z } from 'perdure';
import { bill } from './steps.js';

/** A run that never ended would have a history that never ended; a fresh run takes over after so many periods. */
const PERIODS_PER_RUN = 3;

const cancel = defineSignal('cancel');
const billed = defineQuery<number>('billed');

export default workflow({
  name: 'subscription',
  description: 'Bills a customer every period until it is over or cancelled, as a chain of short runs',
  inputSchema: z
    .object({
      customer: z.string().min(1),
      period: z.string().default('30 days'),
      periods: z.number().int().min(1),
      billedSoFar: z.number().int().min(0).default(0),
    })
    .meta({ examples: [{ customer: 'ada', period: '100ms', periods: 7 }] }),
  outputSchema: z.object({ invoices: z.number(), last: z.string() }),
  signals: { cancel: { description: 'No more periods after this one' } },
  queries: { billed: { description: 'Periods billed so far' } },
  fn: async (input, context) => {
    let isCancelled = false;
    let count = input.billedSoFar;
    setHandler(cancel, () => {
      isCancelled = true;
    });
    setHandler(billed, () => count);

    for (let inThisRun = 0; ; inThisRun++) {
      if (inThisRun === PERIODS_PER_RUN) {
        return context.control.continueAsNew({ ...input, billedSoFar: count });
      }
      const last = await bill({ customer: input.customer, period: count + 1 });
      count++;
      if (count >= input.periods || isCancelled) return { invoices: count, last };
      await condition(() => isCancelled, input.period);
      if (isCancelled) return { invoices: count, last };
    }
  },
});
