/**
 * What was said to be spent, each thing under a name of its own, held against what is on disk after every commit.
 *
 * 1. What has reached an engine that lives to its next commit counts, once: with its step, as long as that is open, and out
 *    of the purse of its tree. What dies with the engine counts nowhere. Nothing else counts (cost).
 * 2. What the attempt that completes a step says follows from its program, and stands in the event that completes it.
 * 3. No attempt is sent whose purse was empty before, and a run waits for its budget only while that is spent (budget).
 */
import type { Cost, CostRecord } from '../../src/core/cost/cost.js';
import type { HistoryEvent, NewEvent } from '../../src/core/history/event.js';
import type { StepAttempt, StepTask } from '../../src/core/task.js';
import type { PurseRow } from '../../src/embedded/store/tables/purse-table.js';
import type { Tables } from '../../src/embedded/store/tables/tables.js';
import type { Spend } from './program.js';
import { type RunRecord, Violation } from './run-record.js';
import { amountOf, unitsOf } from './spending.js';
import type { StepInput } from './virtual-run.js';

interface Said extends Spend {
  runId: string;
  scheduledEventId: number;
}

interface Purse {
  /** After the last commit and after the one before. */
  now: PurseRow;
  before: PurseRow | undefined;
  /** What anybody has ever asked for. */
  wanted: Set<string>;
}

const nameOf = ({ runId, scheduledEventId, attempt }: StepAttempt, index: number): string =>
  `${runId}/${scheduledEventId}/${attempt}#${index}`;

/** What the attempt says at that place of its list. */
export function costOf(task: StepAttempt, { amount, currency }: Spend, index: number): Cost {
  return { kind: 'llm', label: nameOf(task, index), currency, amount, usage: {} };
}

/** What a commit has changed of a run. */
export interface Touched {
  record: RunRecord;
  events: readonly HistoryEvent[];
}

const costsOf = ({ attributes }: NewEvent): CostRecord[] => ('costs' in attributes && attributes.costs) || [];

const isEmpty = ({ amount, spent }: PurseRow): boolean => unitsOf(spent) >= unitsOf(amount);

export class Ledger {
  /** What has reached it before, of runs that have been in no commit since. */
  readonly #keptBack = new Map<string, Said>();
  /** What has reached the engine since the last commit. */
  readonly #arriving = new Map<string, Said>();
  /** What counts, and what that comes to by tree and currency. */
  readonly #counted = new Map<string, Said>();
  readonly #spent = new Map<string, bigint>();
  /** What stands with the steps of each run, and in each run's own part of its history. */
  readonly #standing = new Map<string, Map<string, CostRecord>>();
  readonly #inHistory = new Map<string, CostRecord[]>();
  /** What the attempts of each step say, by the run and the event that scheduled it. */
  readonly #spends = new Map<string, Spend[]>();
  readonly #purses = new Map<string, Purse>();

  /** Commits that come of what workers say: of costs, or that they are there, which concerns no run. */
  commitsOfWorkers = 0;
  #hasArrived = false;

  constructor(private readonly runs: ReadonlyMap<string, RunRecord>) {}

  /** It is with the engine now; an answer may come twice. */
  arrived({ runId, scheduledEventId }: StepAttempt, costs: readonly Cost[] | undefined): void {
    if (costs) this.#hasArrived = true;
    for (const { label, amount, currency } of costs ?? []) {
      if (!this.#counted.has(label!))
        this.#arriving.set(label!, { runId, scheduledEventId, amount, currency });
    }
  }

  /** A commit was made of all that has arrived. */
  committed(tables: Tables, touched: readonly Touched[]): void {
    if (this.#hasArrived || touched.length === 0) this.commitsOfWorkers++;
    this.#hasArrived = false;
    const arrived = [...this.#arriving];
    this.#arriving.clear();
    for (const [name, said] of arrived) this.#count(name, said);
    for (const { record, events } of touched) this.#look(tables, record, events);
    const isTouched = new Set(touched.map(({ record }) => record.runId));
    for (const [name, said] of [...this.#keptBack, ...arrived]) {
      // The end of a step may be kept back for the turn after it; what comes after it in memory comes too late for the step.
      if (isTouched.has(said.runId)) this.#mustStand(name, said);
      else this.#keptBack.set(name, said);
    }
    for (const [name, { runId }] of this.#keptBack) if (isTouched.has(runId)) this.#keptBack.delete(name);
    for (const purse of this.#purses.values()) purse.before = purse.now;
    const trees = new Set([...this.#purses.keys(), ...touched.map(({ record }) => this.treeOf(record))]);
    for (const tree of trees) this.#lookAtPurse(tables, tree);
    for (const record of this.runs.values()) this.#mustWaitForReason(record);
  }

  /** What the next engine finds. What had arrived has died with the last one, unless its commit was made after all. */
  found(tables: Tables, touched: readonly Touched[], isMade: boolean): void {
    if (!isMade) this.#arriving.clear();
    this.#keptBack.clear();
    this.committed(tables, touched);
  }

  /** The tree of the run, by the first run at its root. */
  treeOf({ started, runId }: RunRecord): string {
    if (!started.parent) return started.firstExecutionRunId;
    const parent = this.runs.get(started.parent.runId);
    if (!parent) throw new Violation(`I15: the parent of run ${runId} is not on disk`);
    return this.treeOf(parent);
  }

  purseOf(record: RunRecord): PurseRow | undefined {
    return this.#purses.get(this.treeOf(record))?.now;
  }

  /** Somebody asks for that amount from now on. */
  wants(record: RunRecord, amount: string): void {
    this.#purses.get(this.treeOf(record))?.wanted.add(amount);
  }

  /** Things that were said and count. */
  get count(): number {
    return this.#counted.size;
  }

  /** Names and amounts of what stands in the run's own part of its history and with its steps. */
  standingIn({ runId }: RunRecord): ReadonlyMap<string, CostRecord> {
    return this.#standing.get(runId) ?? new Map();
  }

  /** What the runs of the tree have spent, as far as it stands in their histories. */
  spentBy(tree: string, currency: string): bigint {
    let spent = 0n;
    for (const record of this.runs.values()) {
      if (this.treeOf(record) !== tree) continue;
      for (const each of this.standingIn(record).values())
        if (each.currency === currency) spent += unitsOf(each.amount);
    }
    return spent;
  }

  attemptSent(task: StepTask): void {
    const record = this.runs.get(task.runId)!;
    const { now, before } = this.#purses.get(this.treeOf(record)) ?? {};
    // What is handed out together with the cost that empties the purse was handed out before it.
    const wasEmpty = now && before && isEmpty(before) && now.amount === before.amount;
    if (wasEmpty && !record.hasCancelRequest()) {
      throw new Violation(
        `budget: step ${task.stepName} of run ${task.runId} is sent, and ${before.spent} of ${before.amount} ${before.currency} are spent`,
      );
    }
  }

  #count(name: string, said: Said): void {
    this.#counted.set(name, said);
    const key = `${this.treeOf(this.runs.get(said.runId)!)} ${said.currency}`;
    this.#spent.set(key, (this.#spent.get(key) ?? 0n) + unitsOf(said.amount));
  }

  /** Reads what stands in the run: each thing once, as it was said, and all that stood there before. */
  #look(tables: Tables, record: RunRecord, events: readonly HistoryEvent[]): void {
    const { runId } = record;
    const inHistory = this.#inHistory.get(runId) ?? [];
    this.#inHistory.set(runId, inHistory);
    for (const event of events) {
      if (event.type === 'ACTIVITY_TASK_SCHEDULED') {
        const { spends = [] } = JSON.parse(event.attributes.input[0]!) as StepInput;
        this.#spends.set(`${runId}/${event.id}`, spends);
      }
      // What a reset has taken over counts for the run that it is from.
      if (event.id <= record.copiedUpTo) continue;
      inHistory.push(...costsOf(event));
      this.#checkCompleted(runId, event);
    }
    const { arrived, open } = tables.openCosts(record.key);
    const standing = new Map<string, CostRecord>();
    for (const cost of [...inHistory, ...arrived.flatMap(costsOf), ...open]) {
      const said = this.#counted.get(cost.label!);
      if (!said || said.runId !== runId)
        throw new Violation(`cost: run ${runId} has ${cost.label}, which nobody has said there`);
      if (said.amount !== cost.amount || said.currency !== cost.currency)
        throw new Violation(`cost: ${cost.label} was ${said.amount} and is ${cost.amount} in run ${runId}`);
      if (standing.has(cost.label!)) throw new Violation(`cost: run ${runId} has ${cost.label} twice`);
      standing.set(cost.label!, cost);
    }
    for (const name of this.standingIn(record).keys())
      if (!standing.has(name)) throw new Violation(`cost: run ${runId} has lost ${name}`);
    this.#standing.set(runId, standing);
  }

  /** What a completed step has spent in its last attempt is what its program says, whatever has failed. */
  #checkCompleted(runId: string, event: HistoryEvent): void {
    if (event.type !== 'ACTIVITY_TASK_COMPLETED') return;
    const { scheduledEventId, result, costs = [] } = event.attributes;
    const spends = this.#spends.get(`${runId}/${scheduledEventId}`)!;
    const { attempt } = JSON.parse(result!) as { attempt: number };
    const expected = spends.map((_, index) => nameOf({ runId, scheduledEventId, attempt }, index));
    const actual = costs.filter((cost) => cost.attempt === attempt).map(({ label }) => label!);
    if (expected.sort().join() !== actual.sort().join()) {
      throw new Violation(
        `cost: step ${scheduledEventId} of run ${runId} has spent ${actual.join() || 'nothing'} and should have spent ${expected.join() || 'nothing'}`,
      );
    }
  }

  /** What came too late for its step counts for the purse alone. */
  #mustStand(name: string, { runId, scheduledEventId }: Said): void {
    const record = this.runs.get(runId)!;
    if (this.standingIn(record).has(name)) return;
    if (!record.closed && record.isStepOpen(scheduledEventId))
      throw new Violation(`cost: ${name} has reached the engine, and its step does not have it`);
  }

  #lookAtPurse(tables: Tables, tree: string): void {
    const row = tables.purses.of(tree);
    const budget = this.runs.get(tree)?.started.budget;
    if (!row || !budget) {
      if (!row !== !budget) throw new Violation(`budget: tree ${tree} has ${row ? 'a' : 'no'} purse`);
      return;
    }
    const purse = this.#purses.get(tree);
    if (purse) purse.now = row;
    else this.#purses.set(tree, { now: row, before: undefined, wanted: new Set([budget.amount]) });
    if (!this.#purses.get(tree)!.wanted.has(row.amount))
      throw new Violation(`budget: tree ${tree} may spend ${row.amount}, which nobody has asked for`);
    const spent = this.#spent.get(`${tree} ${row.currency}`) ?? 0n;
    if (amountOf(spent) !== row.spent)
      throw new Violation(`cost: tree ${tree} has spent ${amountOf(spent)}, and its purse says ${row.spent}`);
  }

  #mustWaitForReason(record: RunRecord): void {
    if (record.closed || record.pausedBy() !== 'budget') return;
    const purse = this.purseOf(record);
    if (purse && isEmpty(purse)) return;
    throw new Violation(
      `budget: run ${record.runId} waits for its budget, of which ${purse ? `${purse.spent} of ${purse.amount}` : 'nothing'} is spent`,
    );
  }
}
