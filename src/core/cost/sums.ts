/** Costs of several steps and runs, summed up. Pure, exact, and the same for all engines. */

import { COST_LIMITS } from '../bounds/limits.js';
import type { HistoryEvent } from '../history/event.js';
import { type CostRecord, OTHER_COUNTS } from './cost.js';
import { add, amountOf, countOf, type Decimal, decimalText, ZERO } from './decimal.js';

/** Of which runs: one, all of its id that belong together, or those and all that descend from them. */
export type CostScope = 'run' | 'chain' | 'tree';

export interface Total {
  currency: string;
  amount: string;
}

export interface StepSum {
  workflowType: string;
  stepName: string;
  /** Attempts that have said something. */
  attempts: number;
  totals: Total[];
  usage: Record<string, number>;
}

/** What one run has spent. */
export interface RunCosts {
  workflowId: string;
  runId: string;
  workflowType: string;
  records: readonly CostRecord[];
}

/** Adds up amounts by currency, and counts by name. */
export class Sum {
  readonly #amounts = new Map<string, Decimal>();
  readonly #usage = new Map<string, Decimal>();

  add({ currency, amount, usage }: Pick<CostRecord, 'currency' | 'amount' | 'usage'>): void {
    this.#amounts.set(currency, add(this.#amounts.get(currency) ?? ZERO, amountOf(amount)));
    for (const name in usage) {
      const isKnown = this.#usage.has(name) || this.#usage.size < COST_LIMITS.usageNamesSummed;
      const key = isKnown ? name : OTHER_COUNTS;
      this.#usage.set(key, add(this.#usage.get(key) ?? ZERO, countOf(usage[name])));
    }
  }

  /** By currency, in the order of the alphabet. */
  get totals(): Total[] {
    return [...this.#amounts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, amount]) => ({ currency, amount: decimalText(amount) }));
  }

  get usage(): Record<string, number> {
    return Object.fromEntries([...this.#usage].map(([name, count]) => [name, Number(decimalText(count))]));
  }
}

export function sumOf(records: Iterable<CostRecord>): Sum {
  const sum = new Sum();
  for (const record of records) sum.add(record);
  return sum;
}

export interface ActivitySum {
  activityId: string;
  totals: Total[];
}

/** What each step of one run has spent, over all its attempts: as many sums as steps, however much they have said. */
export class ActivitySums {
  readonly #sums = new Map<string, Sum>();

  add({ activityId, currency, amount }: CostRecord): void {
    const sum = this.#sums.get(activityId) ?? new Sum();
    this.#sums.set(activityId, sum);
    sum.add({ currency, amount, usage: {} });
  }

  /** In the order in which they first said something. */
  get byActivities(): ActivitySum[] {
    return [...this.#sums].map(([activityId, { totals }]) => ({ activityId, totals }));
  }
}

interface OfStep {
  workflowType: string;
  stepName: string;
  sum: Sum;
  attempts: number;
  /** When it first said something. */
  since: number;
}

/** Sums over as many runs as there are, of which it keeps none. */
export class RunSums {
  readonly #all = new Sum();
  readonly #steps = new Map<string, OfStep>();

  add({ workflowType, records }: RunCosts): void {
    const attempts = new Set<string>();
    for (const record of records) {
      const { stepName, activityId, attempt, at } = record;
      const step = this.#step(workflowType, record);
      this.#all.add(record);
      step.sum.add(record);
      step.since = Math.min(step.since, at);
      const one = `${stepName}/${activityId}/${attempt}`;
      if (attempts.has(one)) continue;
      attempts.add(one);
      step.attempts++;
    }
  }

  get totals(): Total[] {
    return this.#all.totals;
  }

  get usage(): Record<string, number> {
    return this.#all.usage;
  }

  /** By workflow and step, in the order in which they first said something. */
  get bySteps(): StepSum[] {
    return [...this.#steps.values()]
      .sort((a, b) => a.since - b.since)
      .map(({ workflowType, stepName, sum, attempts }) => ({
        ...{ workflowType, stepName, attempts, totals: sum.totals, usage: sum.usage },
      }));
  }

  #step(workflowType: string, { stepName, at }: CostRecord): OfStep {
    const key = `${workflowType}#${stepName}`;
    let step = this.#steps.get(key);
    if (!step) {
      step = { workflowType, stepName, sum: new Sum(), attempts: 0, since: at };
      this.#steps.set(key, step);
    }
    return step;
  }
}

/** What stands in the events: with the outcome of each step, and with the end of the run for those it left behind. */
export function costsIn(events: Iterable<HistoryEvent>): CostRecord[] {
  const records: CostRecord[] = [];
  for (const { attributes } of events) {
    if ('costs' in attributes && attributes.costs)
      for (const record of attributes.costs) records.push(record);
  }
  return records;
}

/** Which of the events are the run's own, and not taken over from another one by a reset. */
export function ownEvents(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const reset = events.findLastIndex(
    ({ type, attributes }) =>
      type === 'WORKFLOW_TASK_FAILED' && 'cause' in attributes && attributes.cause === 'RESET_WORKFLOW',
  );
  return events.slice(reset + 1);
}
