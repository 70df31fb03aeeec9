import { isCancellation, workflow, z } from 'perdure';
import { place } from '../shared/ledger.js';
import { spending } from '../shared/spending.js';
import { misspend, spend } from '../shared/steps/spending.js';

/** For those that hang. Others have time: on a busy machine an attempt that takes too long would spend once more. */
const spendInTime = spend.with({ startToCloseTimeout: '4s' });

const amount = spending.omit({ ledger: true, key: true });

interface Item {
  /** A step, or several at once. */
  spend?: z.infer<typeof amount>[];
  slowly?: z.infer<typeof amount>;
  /** Children at once. */
  children?: Item[][];
  again?: Item[];
}

const plan: z.ZodType<Item[]> = z.array(
  z.object({
    spend: z.array(amount).optional(),
    slowly: amount.optional(),
    get children() {
      return z.array(plan).optional();
    },
    get again() {
      return plan.optional();
    },
  }),
);

const input = place.extend({ plan });

export const spends = workflow({
  name: 'spends',
  inputSchema: input,
  fn: async ({ plan, ...place }, { control }): Promise<unknown> => {
    let last: unknown = null;
    for (const item of plan) {
      if (item.spend) {
        const all = item.spend.map((each) => (each.hangs ? spendInTime : spend)({ ...place, ...each }));
        [last] = await Promise.all(all);
      }
      if (item.slowly) last = await spend({ ...place, ...item.slowly });
      if (item.children) await Promise.all(item.children.map((each) => spends({ ...place, plan: each })));
      if (item.again) return control.continueAsNew({ ...place, plan: item.again });
    }
    return last;
  },
});

export const spendsUntilStopped = workflow({
  name: 'spendsUntilStopped',
  inputSchema: place,
  fn: async (place) => {
    try {
      await spend.with({ cancellationType: 'WAIT_CANCELLATION_COMPLETED' })({
        ...{ ...place, amount: '3', gate: 'never' },
      });
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return 'stopped';
    }
    return 'not stopped';
  },
});

export const misspends = workflow({
  name: 'misspends',
  inputSchema: place,
  fn: (place) => misspend(place),
});
