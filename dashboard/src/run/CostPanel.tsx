/** What the run has spent, once it has spent anything. */
import { useQuery } from '@tanstack/react-query';
import type { StatusRecord } from 'perdure/client';
import { RaiseBudget } from './dialogs/BudgetDialog.js';
import { ASK_COSTS_EVERY_MS, costQuery } from './queries.js';

export function CostPanel({ run }: { run: StatusRecord }) {
  const { data } = useQuery({
    ...costQuery(run),
    refetchInterval: run.status === 'running' ? ASK_COSTS_EVERY_MS : false,
    retry: false,
  });
  if (!data || (data.totals.length === 0 && !data.budget)) return null;
  const usage = Object.entries(data.usage);
  return (
    <section className="cost" aria-label="What it has cost">
      {data.totals.map(({ currency, amount }) => (
        <strong key={currency}>
          {amount} {currency}
        </strong>
      ))}
      {data.budget && (
        <span className={data.budget.isExceeded ? 'field-problem' : 'muted'}>
          of {data.budget.amount} {data.budget.currency}
          {data.budget.isExceeded && ': the budget is used up'}
        </span>
      )}
      {usage.map(([name, count]) => (
        <span key={name} className="muted">
          {count.toLocaleString('en')} {name}
        </span>
      ))}
      {data.budget && run.status === 'running' && run.paused?.by !== 'budget' && (
        <RaiseBudget run={run} look="quiet">
          Change the budget…
        </RaiseBudget>
      )}
    </section>
  );
}
