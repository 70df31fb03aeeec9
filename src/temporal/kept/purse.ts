/**
 * What a purse is after it was told something: the same for the workflow that is the purse and for whoever reads its
 * history, where no worker is there to ask it.
 */
import { add, amountOf, decimalText } from '../../core/cost/decimal.js';
import { PURSE, type Purse, type Spending } from '../cluster/conventions.js';

/** Whoever has not heard that he was heard tells it again, for minutes. */
const REMEMBERED = 1_000;

export function tell(purse: Purse, name: string, said: unknown): void {
  switch (name) {
    case PURSE.spent: {
      const { id, costs } = said as Spending;
      if (id !== undefined && isRepeat(purse, id)) return;
      for (const { currency, amount } of costs) {
        if (currency === purse.currency)
          purse.spent = decimalText(add(amountOf(purse.spent), amountOf(amount)));
      }
      return;
    }
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

function isRepeat(purse: Purse, id: string): boolean {
  const { heard = [] } = purse;
  if (heard.includes(id)) return true;
  purse.heard = [...heard.slice(1 - REMEMBERED), id];
  return false;
}
