/**
 * What budgets promise, held against what the steps themselves say of when they began.
 *
 * Whatever happens side by side: all that has ended is in the purse, nothing is that no attempt has spent, and the
 * overshoot is what was spent beyond the budget. Where nothing happens side by side no attempt begins once the budget is
 * met, unless its run was asked to stop.
 */
import type { BudgetState } from '../../src/core/cost/budget.js';
import {
  add,
  amountOf,
  compare,
  type Decimal,
  decimalText,
  parseDecimal,
  subtract,
  ZERO,
} from '../../src/core/cost/decimal.js';
import type { Happened } from './driver.js';
import type { Begun } from './holds.js';
import type { Numbering } from './numbering.js';
import { type Block, blockOf, type Program, partsOf, type Raise, type Statement } from './program.js';

/** A family was found waiting for its budget. */
export interface Met {
  /** Why, as those who wait say it. */
  reasons: string[];
  /** What had begun by then. */
  begun: number;
  raise: Raise;
  budget: BudgetState;
}

/** More than any program spends. */
const ENOUGH = '1000000000000';
const LAST_UNIT: Decimal = { units: 1n, scale: 9 };

export function raised(raise: Raise, spent: string): string {
  if (raise === 'enough') return ENOUGH;
  return raise === 'toSpent' ? spent : decimalText(add(amountOf(spent), LAST_UNIT));
}

/** Whether it is determined which step meets the budget, and what is spent by then. */
export function isDetermined({ body, script }: Program): boolean {
  const follows = (block: Block): boolean =>
    block.every((statement) => isAlone(statement) && partsOf(statement).every((part) => follows(part.block)));
  return follows(body) && script.every((action) => blockOf(action).length === 0);
}

function isAlone(statement: Statement): boolean {
  switch (statement.op) {
    case 'decide':
    case 'partner':
    case 'leave':
      return false;
    case 'gather':
      return statement.branches.length === 1;
    case 'scope':
      return statement.cancel === 'never';
    case 'hold':
      // Given up, it may say so when others have begun.
      return statement.spends === undefined;
    default:
      return true;
  }
}

export function brokenPromises(happened: Happened, program: Program, numbering: Numbering): string[] {
  const { budget, begun, met, runs } = happened;
  if (!program.budget) return [];
  if (!budget) return ['the budget is gone'];
  const { currency } = program.budget;
  const found: string[] = [];
  const spent = amountOf(budget.spent);
  const over = subtract(spent, amountOf(budget.amount));
  if (budget.overshoot !== decimalText(over.units > 0n ? over : ZERO))
    found.push(`the overshoot of ${JSON.stringify(budget)} is wrong`);
  const most = sumOf(begun.flatMap((each) => spendings(each, currency, numbering)));
  const least = sumOf(
    happened.treeCosts.flatMap(({ records }) =>
      records.filter((each) => each.currency === currency).map(({ amount }) => amount),
    ),
  );
  const isLeftBehind = runs.some((run) => run.pendingSteps().length > 0);
  const isRight = isLeftBehind
    ? compare(least, spent) <= 0 && compare(spent, most) <= 0
    : compare(least, spent) === 0 && compare(spent, most) === 0;
  if (!isRight)
    found.push(
      `the purse says ${budget.spent}, the records ${decimalText(least)}, the attempts ${decimalText(most)}`,
    );
  return isDetermined(program) ? [...found, ...begunTooLate(happened, met, program, numbering)] : found;
}

function begunTooLate(
  { begun, runs }: Happened,
  met: readonly Met[],
  { budget }: Program,
  numbering: Numbering,
): string[] {
  const found: string[] = [];
  let spent = ZERO;
  begun.forEach((each, index) => {
    const amount = met.findLast((one) => one.begun <= index)?.budget.amount ?? budget!.amount;
    const isStopping = runs.find(({ runId }) => runId === each.runId)?.isCancelRequested;
    if (!isStopping && compare(spent, amountOf(amount)) >= 0)
      found.push(`step ${each.site} began when ${decimalText(spent)} of ${amount} were spent`);
    spent = add(spent, sumOf(spendings(each, budget!.currency, numbering)));
  });
  return found;
}

function spendings({ site }: Begun, currency: string, numbering: Numbering): string[] {
  const statement = numbering.statement(site);
  const spends = statement?.op === 'step' || statement?.op === 'hold' ? (statement.spends ?? []) : [];
  return spends
    .filter((each) => (each.currency ?? 'USD') === currency)
    .map(({ amount }) => decimalText(parseDecimal(amount)!));
}

const sumOf = (amounts: readonly string[]): Decimal =>
  amounts.reduce((sum, amount) => add(sum, amountOf(amount)), ZERO);
