/** What a tree of runs may spend, and how much of it is left. */
import { PerdureError } from '../errors.js';
import { compare, decimalText, parseDecimal, subtract } from './decimal.js';

export interface Budget {
  /** A decimal text. */
  amount: string;
  currency: string;
}

export interface BudgetState extends Budget {
  /** In its currency, by all runs that it covers. */
  spent: string;
  /** Nothing more is started. */
  isExceeded: boolean;
  /** By how much more was spent than there was: by steps that were under way when it was met. */
  overshoot: string;
}

export const isMet = (amount: string, spent: string): boolean =>
  compare(parseDecimal(spent)!, parseDecimal(amount)!) >= 0;

export function budgetState({ amount, currency }: Budget, spent: string): BudgetState {
  const over = subtract(parseDecimal(spent)!, parseDecimal(amount)!);
  return {
    ...{ amount, currency, spent },
    isExceeded: over.units >= 0n,
    overshoot: over.units > 0n ? decimalText(over) : '0',
  };
}

/** What people read where a run waits for its budget. */
export const budgetReason = ({ amount, currency }: Budget, spent: string): string =>
  `the budget is spent: ${spent} of ${amount} ${currency} (only what is spent in ${currency} counts)`;

/** Whoever sets a budget wants it held, and it would hold nothing that was spent before. */
export const withoutBudget = (run: { workflowId: string; runId: string }): PerdureError =>
  new PerdureError('ValidationError', 'Invalid Payload', {
    ...run,
    issues: [
      {
        path: ['amount'],
        message:
          'the run was started without a budget: give one when it is started ({ "budget": { "amount": "5", "currency": "USD" } })',
        code: 'no_budget',
      },
    ],
  });

/** Letters that stand for no country: anybody's own units. */
const OWN_UNIT = /^X[A-Z]{2}$/;

/** A budget in a currency that nothing is ever spent in would hold nobody back, so a mistyped one is not taken. */
export function isKnownCurrency(currency: string): boolean {
  return OWN_UNIT.test(currency) || Intl.supportedValuesOf('currency').includes(currency);
}
