/** What each step has spent, of the records of its run. */
import type { CostRecord } from 'perdure/client';

/** An amount has no more, so that sums are exact in units of the last one. */
const DECIMALS = 9;

/** In words, by the ids of their activities: `0.25 USD`, with one for each currency. */
export function costsOfSteps(records: readonly CostRecord[]): ReadonlyMap<string, string> {
  const steps = new Map<string, Map<string, bigint>>();
  for (const { activityId, currency, amount } of records) {
    const sums = steps.get(activityId) ?? new Map<string, bigint>();
    sums.set(currency, (sums.get(currency) ?? 0n) + unitsOf(amount));
    steps.set(activityId, sums);
  }
  return new Map([...steps].map(([activityId, sums]) => [activityId, inWords(sums)]));
}

function inWords(sums: ReadonlyMap<string, bigint>): string {
  const byCurrency = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  return byCurrency.map(([currency, units]) => `${amountOf(units)} ${currency}`).join(', ');
}

function unitsOf(amount: string): bigint {
  const [whole = '', decimals = ''] = amount.split('.');
  return BigInt(whole + decimals.padEnd(DECIMALS, '0'));
}

function amountOf(units: bigint): string {
  const digits = String(units).padStart(DECIMALS + 1, '0');
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, '');
}
