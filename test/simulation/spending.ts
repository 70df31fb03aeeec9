/** What programs spend, computed without running them, in a calculation of its own: whole numbers of the smallest unit. */
import { type Action, MAX_RUNS, type Program } from './program.js';

/** Amounts have at most nine decimals. */
const DECIMALS = 9;

export function unitsOf(amount: string): bigint {
  const [whole = '0', decimals = ''] = amount.split('.');
  return BigInt(whole + decimals.padEnd(DECIMALS, '0'));
}

export function amountOf(units: bigint): string {
  const text = String(units).padStart(DECIMALS + 1, '0');
  const decimals = text.slice(-DECIMALS).replace(/0+$/, '');
  return text.slice(0, -DECIMALS) + (decimals && `.${decimals}`);
}

export interface Bounds {
  least: bigint;
  most: bigint;
}

const sum = (all: readonly Bounds[]): Bounds => ({
  least: all.reduce((total, { least }) => total + least, 0n),
  most: all.reduce((total, { most }) => total + most, 0n),
});

/** What the run of the program, those after it and all their children spend, where nothing fails and nobody interferes. */
export function spendingOf({ actions, failures, timeLimitMs }: Program, currency: string): Bounds {
  // A run that fails is tried again from where it began, which is where the one before has continued as new.
  const lastBegins = actions.findLastIndex((action) => action.do === 'continueAsNew') + 1;
  const times = BigInt(Math.min(failures + 1, MAX_RUNS));
  const last = sum(actions.slice(lastBegins).map((action) => spendingOfAction(action, currency)));
  const before = sum(actions.slice(0, lastBegins).map((action) => spendingOfAction(action, currency)));
  const most = before.most + last.most * times;
  // What its time does not suffice for is not spent.
  return { least: timeLimitMs === undefined ? before.least + last.least * times : 0n, most };
}

function spendingOfAction(action: Action, currency: string): Bounds {
  const said = ('spends' in action ? (action.spends ?? []) : [])
    .filter((spend) => spend.currency === currency)
    .reduce((total, { amount }) => total + unitsOf(amount), 0n);
  const times = (attempts: number): Bounds => ({
    least: said * BigInt(attempts),
    most: said * BigInt(attempts),
  });
  switch (action.do) {
    case 'step':
      return times(action.fails + 1);
    case 'doomed':
      return times(action.attempts);
    case 'race':
      return { least: 0n, most: said };
    case 'all':
      return sum(action.parts.map((part) => spendingOfAction(part, currency)));
    case 'child':
      return spendingOf(action.program, currency);
    default:
      return { least: 0n, most: 0n };
  }
}
