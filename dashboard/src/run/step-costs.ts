/** What each step has spent, as the server has summed it up. */
import type { Costs } from 'perdure/client';

type StepTotals = NonNullable<Costs['byActivities']>;

/** In words, by the ids of their activities: `0.25 USD`, with one for each currency. */
export const costsOfSteps = (steps: StepTotals): ReadonlyMap<string, string> =>
  new Map(
    steps.map(({ activityId, totals }) => [
      activityId,
      totals.map(({ amount, currency }) => `${amount} ${currency}`).join(', '),
    ]),
  );
