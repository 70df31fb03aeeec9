/**
 * What a purse is after it was told something: the same for the workflow that is the purse and for whoever reads its
 * history, where no worker is there to ask it.
 */
import { add, amountOf, decimalText } from '../../core/cost/decimal.js';
import { PURSE, type Purse, type Spending, type Waiting } from '../cluster/conventions.js';

interface Woken {
  runIds: string[];
  ids?: string[];
}

/** Of runs that were let go on. By the time that the purse hears of it one may wait again, and must not be forgotten. */
export const woken = (waiting: readonly Waiting[]): Woken => ({
  runIds: waiting.map(({ runId }) => runId),
  ids: waiting.flatMap(({ id }) => id ?? []),
});

/** Whoever has not heard that he was heard tells it again, for minutes. */
const REMEMBERED = 1_000;

export function tell(purse: Purse, name: string, said: unknown): void {
  switch (name) {
    case PURSE.spent: {
      const { id, costs } = said as Partial<Spending> & Pick<Spending, 'costs'>;
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
      const run = said as Waiting;
      const before = purse.waiting.find(({ runId }) => runId === run.runId);
      if (before && before.id === run.id) return;
      purse.waiting = [...purse.waiting.filter((each) => each !== before), run];
      return;
    }
    case PURSE.woken: {
      const { runIds, ids } = said as Woken;
      const hasGoneOn = ({ runId, id }: Waiting) =>
        runIds.includes(runId) && (id === undefined || !ids || ids.includes(id));
      purse.waiting = purse.waiting.filter((run) => !hasGoneOn(run));
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
