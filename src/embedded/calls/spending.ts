/** What runs have spent, and what they may spend. */
import { type BudgetState, isMet, withoutBudget } from '../../core/cost/budget.js';
import type { CostScope, RunCosts } from '../../core/cost/sums.js';
import { faultPoint } from '../../core/fault-point.js';
import type { CostReport, RunRef, RunSelector } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import type { Lifecycle } from '../life/lifecycle.js';
import { type Purses, stateOf } from '../life/purses.js';
import type { Payments } from '../upkeep/payments.js';
import { ClosedCosts } from './closed-costs.js';
import { takeCosts } from './costs.js';
import type { Guard } from './guard.js';

export class Spending {
  readonly #closed = new ClosedCosts();

  constructor(
    private readonly kernel: Kernel,
    private readonly guard: Guard,
    private readonly lifecycle: Lifecycle,
    private readonly purses: Purses,
    private readonly payments: Payments,
  ) {}

  async cost(selector: RunSelector, scope: CostScope, take: (run: RunCosts) => void): Promise<CostReport> {
    const row = await takeCosts(this.kernel, this.#closed, selector, scope, take);
    // As it is on disk, with the records that the answer has.
    const purse = this.kernel.tables.purses.of(row.tree ?? row.first_run_id);
    return { workflowId: row.workflow_id, runId: row.run_id, budget: purse ? stateOf(purse) : null };
  }

  async setBudget(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }> {
    this.guard.requireSpace();
    // All that are paused have to be found. What is committed may leave memory, so the run is looked up after that.
    this.kernel.commit.flush(true);
    const run = this.guard.openRun(selector, 'a budget');
    const { workflowId, runId } = run.state;
    const purse = this.purses.of(run);
    if (!purse) throw withoutBudget({ workflowId, runId });
    this.guard.requireWriting();
    this.purses.set(run, purse, amount);
    if (!isMet(purse.amount, purse.spent)) {
      this.lifecycle.resume(run, 'budget');
      this.payments.payFor(purse.tree);
    }
    faultPoint('budget');
    return { ...(await this.guard.durable({ workflowId, runId })), budget: stateOf(purse) };
  }
}
