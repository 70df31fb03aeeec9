/** Those who ask what runs have spent, and say what they may spend. What they are told is held against the disk. */
import type { CostScope, RunCosts } from '../../src/core/cost/sums.js';
import type { RunRef } from '../../src/engine.js';
import type { Random } from '../../src/testing/random.js';
import type { Service } from './clients.js';
import type { Oracle } from './oracle.js';
import { type RunRecord, Violation } from './run-record.js';
import { amountOf, unitsOf } from './spending.js';

export class Payers {
  /** How often anybody has begun to change the budget of a tree. */
  readonly #changes = new Map<string, number>();

  constructor(
    private readonly service: Service,
    private readonly oracle: Oracle,
    private readonly random: Random,
  ) {}

  /** Each thing that was spent is told once; of a single run also what a reset has taken over. */
  async cost(workflowId: string, scope: CostScope): Promise<void> {
    const { ledger, commits } = this.oracle;
    const told: RunCosts[] = [];
    const answer = await this.service.call(`cost ${scope}`, (engine) =>
      engine.cost({ workflowId }, scope, (run) => told.push(run)),
    );
    // It is read from the disk, run by run: what was written meanwhile may be in it or not.
    if (answer.kind !== 'ok' || this.oracle.commits !== commits) return;
    const asked = this.#required(answer.value, 'what it has spent');
    const { firstExecutionRunId } = asked.started;
    const isMeant = (record: RunRecord): boolean =>
      scope === 'run'
        ? record === asked
        : scope === 'chain'
          ? record.started.firstExecutionRunId === firstExecutionRunId
          : ledger.treeOf(record) === ledger.treeOf(asked);
    const expected = [...this.oracle.runs.values()].filter(isMeant);
    const names = expected.flatMap((record) => [...ledger.standingIn(record).keys()]).sort();
    const toldNames = told.flatMap(({ records }) => records.map(({ label }) => label!)).sort();
    const isRight =
      scope === 'run' && asked.copiedUpTo > 0
        ? names.every((name) => toldNames.includes(name)) && new Set(toldNames).size === toldNames.length
        : names.join() === toldNames.join();
    if (!isRight) {
      throw new Violation(
        `cost: the ${scope} of run ${asked.runId} is said to have spent ${toldNames.join()} and has spent ${names.join()}`,
      );
    }
    const purse = ledger.purseOf(asked);
    const { budget } = answer.value;
    if (budget?.spent !== purse?.spent || budget?.amount !== purse?.amount) {
      throw new Violation(
        `cost: run ${asked.runId} is said to have ${JSON.stringify(budget)} and has ${JSON.stringify(purse)}`,
      );
    }
  }

  async setBudget(run: { workflowId: string; runId?: string }, amount: string): Promise<void> {
    const { ledger } = this.oracle;
    const latest = run.runId ? this.oracle.runs.get(run.runId) : this.oracle.latest(run.workflowId);
    if (!latest) return;
    const tree = ledger.treeOf(latest);
    const change = (this.#changes.get(tree) ?? 0) + 1;
    this.#changes.set(tree, change);
    ledger.wants(latest, amount);
    const answer = await this.service.call(`budget ${amount}`, (engine) => engine.setBudget(run, amount));
    if (answer.kind === 'unclear') return;
    const hasBudget = ledger.purseOf(latest) !== undefined;
    if (answer.kind === 'refused') {
      if (answer.error.name === 'ValidationError' && hasBudget)
        throw new Violation(`budget: run ${latest.runId} is said to have no budget and has one`);
      return;
    }
    const record = this.#required(answer.value, 'its budget');
    const purse = ledger.purseOf(record);
    if (!purse) throw new Violation(`I1: run ${record.runId} is said to have a budget and has none`);
    // Somebody else may have changed it again.
    if (this.#changes.get(tree) === change && purse.amount !== amount)
      throw new Violation(
        `I1: run ${record.runId} may spend ${purse.amount}, and ${amount} was acknowledged`,
      );
  }

  /** A little more than is spent, so that it is spent again soon. */
  async raise(record: RunRecord): Promise<void> {
    const purse = this.oracle.ledger.purseOf(record);
    if (!purse) return;
    const more = BigInt(this.random.pick([1, 500_000_000, 2_000_000_000, 20_000_000_000]));
    const { workflowId } = record.started;
    await this.setBudget({ workflowId, runId: record.runId }, amountOf(unitsOf(purse.spent) + more));
  }

  #required({ runId }: RunRef, what: string): RunRecord {
    const record = this.oracle.runs.get(runId);
    if (!record) throw new Violation(`I1: ${what} is told of run ${runId}, which is not on disk`);
    return record;
  }
}
