/**
 * What a purse is after it was told something: the same for the workflow that is the purse and for whoever reads its
 * history, where no worker is there to ask it.
 */
import { add, amountOf, decimalText } from '../../core/cost/decimal.js';
import { PURSE, type Purse, type Spending } from '../cluster/conventions.js';

export function tell(purse: Purse, name: string, said: unknown): void {
  switch (name) {
    case PURSE.spent:
      for (const { currency, amount } of (said as Spending).costs) {
        if (currency === purse.currency)
          purse.spent = decimalText(add(amountOf(purse.spent), amountOf(amount)));
      }
      return;
    case PURSE.set:
      purse.amount = (said as { amount: string }).amount;
      return;
    case PURSE.waits: {
      const run = said as Purse['waiting'][number];
      if (!purse.waiting.some(({ runId }) => runId === run.runId)) purse.waiting.push(run);
      return;
    }
    case PURSE.woken: {
      const { runIds } = said as { runIds: string[] };
      purse.waiting = purse.waiting.filter(({ runId }) => !runIds.includes(runId));
      return;
    }
    default:
  }
}
