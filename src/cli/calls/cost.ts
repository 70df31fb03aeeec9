/** `cost` and `budget`: what runs have spent, and what they may. */

import type { Costs, RunBudget } from '../../client/index.js';
import { nextAfter } from '../../client/transport.js';
import { out } from '../colours.js';
import type { Connection } from './connection.js';
import { plain, printJson, say, table } from './screen.js';

interface CostFlags {
  id: string;
  run?: string;
  scope?: Costs['scope'];
  json?: boolean;
}

const LARGEST_PAGE = 1_000;

export async function cost({ quick }: Connection, { id, run, scope, json }: CostFlags): Promise<void> {
  const handle = quick.handle(id, run);
  let page = await handle.cost({ scope, limit: json ? LARGEST_PAGE : 1 });
  if (!json) return void process.stdout.write(`${costText(page)}\n`);
  const { records } = page;
  for (
    let cursor = nextAfter(page.nextCursor, undefined);
    cursor;
    cursor = nextAfter(page.nextCursor, cursor)
  ) {
    page = await handle.cost({ scope, limit: LARGEST_PAGE, cursor });
    records.push(...page.records);
  }
  // All records, as the API would give them on one page. The last sums are those that have all of them.
  printJson({ ...page, records });
}

function costText({ totals, usage, bySteps, budget }: Costs): string {
  if (bySteps.length === 0) return ['nothing was spent', ...budgetLines(budget)].join('\n');
  const rows = bySteps.map((step) => [
    plain(`${step.workflowType}#${step.stepName}`),
    amounts(step.totals),
    String(step.attempts),
    counts(step.usage),
  ]);
  const total = ['total', amounts(totals), '', counts(usage)].map((cell) => out.bold(cell));
  const lines = table(['STEP', 'SPENT', 'ATTEMPTS', 'USAGE'], [...rows, total]);
  return [lines, ...budgetLines(budget)].join('\n');
}

const amounts = (totals: Costs['totals']): string =>
  totals.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');

const counts = (usage: Costs['usage']): string =>
  Object.entries(usage)
    .map(([name, count]) => `${plain(name)} ${count}`)
    .join(', ');

function budgetLines(budget: Costs['budget']): string[] {
  if (!budget) return [];
  const { amount, currency, spent, isExceeded, overshoot } = budget;
  const over = overshoot === '0' ? '' : `, ${overshoot} more than there was`;
  const line = `budget  ${spent} of ${amount} ${currency} spent${over}`;
  return [isExceeded ? out.red(line) : line];
}

export async function setBudget(
  { quick }: Connection,
  amount: string,
  { id, run, json }: CostFlags,
): Promise<void> {
  const answer = await quick.handle(id, run).setBudget(amount);
  if (json) return printJson(answer);
  say(budgetText(answer));
}

function budgetText({ workflowId, budget: { amount, currency, spent, isExceeded } }: RunBudget): string {
  const rest = isExceeded ? 'which does not suffice: nothing more is started' : `${spent} of it is spent`;
  return `${plain(workflowId)} may spend ${amount} ${currency}, ${rest}`;
}
