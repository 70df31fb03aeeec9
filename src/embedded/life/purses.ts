/**
 * What trees of runs may spend, and have spent.
 *
 * 1. A purse is of a whole tree: the chain at its root and all descendants, whoever started them and however long ago.
 * 2. What is spent is in the purse in the very commit that holds the record of it.
 * 3. Before a step is handed out its run's purse is looked at, in the one thread that also counts what comes in. So steps
 *    that are under way when it is met may still spend, and no other is started.
 */
import { type Budget, type BudgetState, budgetReason, budgetState, isMet } from '../../core/cost/budget.js';
import type { Cost } from '../../core/cost/cost.js';
import { add, amountOf, decimalText } from '../../core/cost/decimal.js';
import type { Kernel } from '../kernel.js';
import { type RunState, treeOf } from '../state/run-state.js';
import type { ActiveRun } from '../store/active-run.js';
import { DamagedRowError, DamagedRunError } from '../store/damage.js';
import type { PurseRow } from '../store/tables/purse-table.js';

/** Purses in memory before those that are on disk are forgotten. */
const MAX_KEPT = 10_000;

export class Purses {
  readonly #purses = new Map<string, PurseRow>();
  /** Those that the next commit writes. */
  readonly #changed = new Set<PurseRow>();

  constructor(private readonly kernel: Kernel) {}

  /** The run at the root begins with it. */
  open(run: ActiveRun, { amount, currency }: Budget): void {
    const purse = { tree: treeOf(run.state), currency, amount, spent: '0' };
    this.#keep(purse);
    this.#write(purse, run);
  }

  /** Undefined for a run that may spend as much as it likes, which is known without a look at the disk. @throws DamagedRunError */
  of({ key, state }: ActiveRun): PurseRow | undefined {
    if (!hasBudget(state)) return undefined;
    let purse: PurseRow | undefined;
    try {
      purse = this.ofTree(treeOf(state));
    } catch (error) {
      // Whether it may spend is not known, so it does not go on.
      if (error instanceof DamagedRowError) throw new DamagedRunError(key, error.message);
      throw error;
    }
    if (!purse) throw new DamagedRunError(key, `the budget of run ${treeOf(state)} is not there`);
    return purse;
  }

  /** @throws DamagedRowError */
  ofTree(tree: string): PurseRow | undefined {
    const known = this.#purses.get(tree);
    if (known) return known;
    const purse = this.kernel.tables.purses.of(tree);
    if (purse) this.#keep(purse);
    return purse;
  }

  spend(run: ActiveRun, costs: readonly Cost[]): void {
    const purse = this.of(run);
    if (!purse) return;
    for (const { currency, amount } of costs) {
      if (currency !== purse.currency) continue;
      purse.spent = decimalText(add(amountOf(purse.spent), amountOf(amount)));
    }
    this.#write(purse, run);
  }

  set(run: ActiveRun, purse: PurseRow, amount: string): void {
    purse.amount = amount;
    this.#write(purse, run);
  }

  /** Why nothing more of the run is started; undefined while it may spend. */
  emptyFor(run: ActiveRun): string | undefined {
    const purse = this.of(run);
    return purse && isMet(purse.amount, purse.spent) ? budgetReason(purse, purse.spent) : undefined;
  }

  #write(purse: PurseRow, run: ActiveRun): void {
    // A closed one has nothing more to save.
    if (!run.isClosed) this.kernel.commit.include(run);
    if (this.#changed.has(purse)) return;
    this.#changed.add(purse);
    this.kernel.commit.write(() => this.kernel.tables.purses.save(purse));
    this.kernel.commit.afterCommit(() => this.#changed.delete(purse));
  }

  #keep(purse: PurseRow): void {
    if (this.#purses.size >= MAX_KEPT) {
      for (const [tree, each] of this.#purses) if (!this.#changed.has(each)) this.#purses.delete(tree);
    }
    this.#purses.set(purse.tree, purse);
  }
}

export const hasBudget = ({ started }: RunState): boolean =>
  started.budget !== undefined || started.parent?.hasBudget === true;

export const stateOf = (purse: PurseRow): BudgetState => budgetState(purse, purse.spent);
