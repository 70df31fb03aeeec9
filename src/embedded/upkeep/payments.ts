/**
 * Runs that have waited for their budget go on once it suffices, a few at a time: a tree can have ten thousand of them, and
 * others want the thread as well.
 *
 * 1. What is on disk before the caller is answered is that the budget suffices, and that is enough: whoever is paused by a
 *    budget that suffices goes on. Those whom the last process has left are looked for at the start.
 * 2. A budget that is met again meanwhile ends it; raising that one begins anew.
 */
import { isMet } from '../../core/cost/budget.js';
import type { Kernel } from '../kernel.js';
import type { Damage } from '../life/damage.js';
import type { Lifecycle } from '../life/lifecycle.js';
import type { Piecemeal } from '../life/piecemeal.js';
import type { Purses } from '../life/purses.js';

/** Runs that go on before other work gets its turn. */
const BATCH = 50;

export class Payments {
  /** Trees that are being paid for, and the last run that has been, by its key. */
  readonly #paidUpTo = new Map<string, number>();

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly purses: Purses,
    private readonly damage: Damage,
    private readonly piecemeal: Piecemeal,
  ) {}

  start(): void {
    const trees = this.damage.contain(() => this.kernel.tables.runs.treesThatWaitForBudgets());
    for (const tree of trees ?? []) {
      if (this.damage.contain(() => this.#suffices(tree))) this.#goOn(tree, 0);
    }
  }

  /** All that wait for this budget, those of the first batch in this transition. All who are paused have to be on disk. */
  payFor(tree: string): void {
    const isUnderWay = this.#paidUpTo.has(tree);
    const last = this.#payAfter(tree, 0);
    if (isUnderWay) this.#paidUpTo.set(tree, last ?? 0);
    else if (last !== undefined) this.#goOn(tree, last);
  }

  #suffices(tree: string): boolean {
    const purse = this.purses.ofTree(tree);
    return purse !== undefined && !isMet(purse.amount, purse.spent);
  }

  /** Some of those who wait, by their keys; returns the last of them. */
  #payAfter(tree: string, paidUpTo: number): number | undefined {
    const { runs, tables } = this.kernel;
    const waiting = this.#suffices(tree) ? tables.runs.pausedOfTree(tree, paidUpTo, BATCH) : [];
    for (const { runId } of waiting) {
      const run = this.damage.contain(() => runs.get(runId));
      if (run && !run.isClosed) this.lifecycle.resume(run, 'budget');
    }
    return waiting.at(-1)?.key;
  }

  #goOn(tree: string, paidUpTo: number): void {
    this.#paidUpTo.set(tree, paidUpTo);
    this.piecemeal.goOn(() => {
      const last = this.#payAfter(tree, this.#paidUpTo.get(tree) ?? 0);
      if (last === undefined) this.#paidUpTo.delete(tree);
      else this.#goOn(tree, last);
    });
  }
}
