/**
 * What runs have spent, read from what is committed: the outcomes of their steps, and what steps that are under way have
 * said so far. A run that was reset has the costs of the part that it took over; over several runs each counts once.
 *
 * Of a tree one run is held at a time, and others get their turn while it is read. What closed runs have spent is kept for the
 * next page (`ClosedCosts`).
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { CostRecord } from '../../core/cost/cost.js';
import { type CostScope, costsIn, ownEvents, type RunCosts } from '../../core/cost/sums.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { RunSelector } from '../../engine.js';
import type { Kernel } from '../kernel.js';
import { DamagedRunError } from '../store/damage.js';
import type { RunRow } from '../store/tables/run-row.js';
import type { ClosedCosts } from './closed-costs.js';

/** How long runs are read at a time before others get their turn. */
const ROUND_MS = 10;
/** Parts of a history that are read at a time. */
const PIECES = 100;

/** Answers with the run that was asked for. @throws WorkflowNotFoundError, DataCorruptionError */
export async function takeCosts(
  kernel: Kernel,
  closed: ClosedCosts,
  selector: RunSelector,
  scope: CostScope,
  take: (run: RunCosts) => void,
): Promise<RunRow> {
  const { tables } = kernel;
  const row = kernel.runs.selectRow(selector);
  const rounds = new Rounds(kernel);
  if (scope === 'run') {
    take(costsOfRun(row, await readCosts(kernel, row, true, rounds)));
    return row;
  }
  const costsOf = async (run: RunRow): Promise<RunCosts> => {
    const costs = closed.get(run.key) ?? costsOfRun(run, await readCosts(kernel, run, false, rounds));
    // As it was before it was read: what closes meanwhile may not have been read to its end.
    if (run.closed_at !== null) closed.keep(run.key, costs);
    return costs;
  };
  const family = new Set<string>();
  for (const key of tables.runs.chainKeys(row.first_run_id)) {
    // Of a run that retention has removed meanwhile nothing is left to count.
    const run = tables.runs.byKey(key);
    if (!run) continue;
    family.add(run.run_id);
    take(await costsOf(run));
  }
  if (scope === 'chain') return row;
  for (const key of tables.runs.descendantKeys(row.tree ?? row.first_run_id)) {
    await rounds.next();
    // Below a root all that is there counts, so that nothing has to be looked up of those that are known.
    const known = row.tree === null ? closed.get(key) : undefined;
    if (known) {
      take(known);
      continue;
    }
    const run = tables.runs.byKey(key);
    if (!run || family.has(run.run_id)) continue;
    // Of a workflow that has a parent itself the whole tree is known, and who descends from whom by the first events.
    if (row.tree !== null) {
      const parent = parentOf(tables, run);
      if (parent === undefined || !family.has(parent)) continue;
      family.add(run.run_id);
    }
    take(await costsOf(run));
  }
  return row;
}

/** Lets others have the thread now and then. */
class Rounds {
  #began: number;

  constructor(private readonly kernel: Kernel) {
    this.#began = kernel.scheduler.monotonicMs();
  }

  async next(): Promise<void> {
    if (this.kernel.scheduler.monotonicMs() - this.#began <= ROUND_MS) return;
    await nextRound();
    this.#began = this.kernel.scheduler.monotonicMs();
  }
}

const costsOfRun = (
  { workflow_id: workflowId, run_id: runId, workflow_type: workflowType }: RunRow,
  records: readonly CostRecord[],
): RunCosts => ({ workflowId, runId, workflowType, records });

async function readCosts(
  { tables }: Kernel,
  { key, closed_at: closedAt }: RunRow,
  withTakenOver: boolean,
  rounds: Rounds,
): Promise<CostRecord[]> {
  const events: HistoryEvent[] = [];
  for (let after = 0; ; ) {
    await rounds.next();
    const pieces = tables.history.withCosts(key, after, PIECES);
    for (const piece of pieces) events.push(...piece);
    after = pieces.at(-1)?.at(-1)?.id ?? after;
    if (pieces.length < PIECES) break;
  }
  const records = costsIn(withTakenOver ? events : ownEvents(events));
  if (closedAt !== null) return records;
  // In the same moment as the last part: a step that closes goes over from the one to the other.
  const { arrived, open } = tables.openCosts(key);
  const waiting = arrived.flatMap(({ attributes }) => ('costs' in attributes && attributes.costs) || []);
  return [...records, ...waiting, ...open];
}

function parentOf(tables: Kernel['tables'], run: RunRow): string | undefined {
  try {
    const first = tables.history.first(run.key);
    return first.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes.parent?.runId : undefined;
  } catch (error) {
    if (error instanceof DamagedRunError) return undefined;
    throw error;
  }
}
