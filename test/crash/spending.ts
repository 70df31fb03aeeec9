/** Clients who ask what runs have spent, and remember what they were told. */
import { centsOf, type ToldCosts } from './costs.js';
import { monotonicMs } from './operations.js';
import type { Wire } from './wire.js';

interface CostAnswer {
  records: { label: string }[];
  budget: { spent: string } | null;
}

export class Spending {
  /** Names of what was spent, by when that was told first; and what was spent of budgets, by the root's id. */
  readonly #names = new Map<string, number>();
  #spent: { workflowId: string; cents: number; at: number }[] = [];
  #amounts = 0;
  readonly broken: string[] = [];

  constructor(private readonly wire: Wire) {}

  /** So many units and a little that nobody else asks for, so that it is found again. */
  amount(units: number): string {
    return `${units}.${String(++this.#amounts).padStart(6, '0')}1`;
  }

  /** What the run at the root of a tree has spent, with all that descend from it. */
  async look(workflowId: string): Promise<void> {
    const { status, text } = await this.wire.get(`/workflow/${workflowId}/cost?scope=tree&limit=1000`);
    if (status !== 200) return;
    const at = monotonicMs();
    const { records, budget } = JSON.parse(text) as CostAnswer;
    const names = records.map(({ label }) => label);
    if (new Set(names).size < names.length) this.broken.push(`${workflowId}: one answer has a cost twice`);
    for (const name of names) if (!this.#names.has(name)) this.#names.set(name, at);
    if (budget) this.#spent.push({ workflowId, cents: centsOf(budget.spent), at });
  }

  get namesTold(): number {
    return this.#names.size;
  }

  /** What callers had been told by then. */
  toldBefore(instant: number): ToldCosts {
    return {
      names: [...this.#names].flatMap(([name, at]) => (at < instant ? [name] : [])),
      spent: this.#spent.filter(({ at }) => at < instant),
    };
  }

  /** The power went at that instant. */
  rollBack(instant: number): void {
    for (const [name, at] of this.#names) if (at >= instant) this.#names.delete(name);
    this.#spent = this.#spent.filter(({ at }) => at < instant);
  }
}
