/**
 * The runs in memory: found, loaded, kept while they are active, dropped when they are quiet.
 *
 * 1. A run is in memory at most once, so whoever changes it changes the only copy.
 * 2. A run that is loaded has no turn under way, so its inbox goes into its history at once.
 */
import { PerdureError } from '../core/errors.js';
import type { RunSelector } from '../engine.js';
import type { ActiveRun } from './active-run.js';
import type { RunRow, Tables } from './tables.js';

/** Runs looked at after one commit, so that many busy ones do not slow every commit down. */
const MAX_LOOKS = 500;

export class Runs {
  readonly #active = new Map<string, ActiveRun>();
  /** The latest run of a workflow id, when that is in memory. */
  readonly #latest = new Map<string, ActiveRun>();
  #lastKey: number;

  constructor(
    private readonly tables: Tables,
    private readonly maxQuiet: number,
    private readonly onLoaded: (run: ActiveRun) => void,
  ) {
    this.#lastKey = tables.maxKey();
  }

  nextKey(): number {
    return ++this.#lastKey;
  }

  /** A run that was just made; it is the latest of its id. */
  add(run: ActiveRun): void {
    this.#active.set(run.state.runId, run);
    this.#latest.set(run.state.workflowId, run);
  }

  inMemory(runId: string): ActiveRun | undefined {
    return this.#active.get(runId);
  }

  get(runId: string): ActiveRun | undefined {
    const active = this.#active.get(runId);
    if (active) return active;
    const row = this.tables.runById(runId);
    return row && this.#load(row);
  }

  latest(workflowId: string): ActiveRun | undefined {
    const active = this.#latest.get(workflowId);
    if (active) return active;
    const row = this.tables.latestRun(workflowId);
    if (!row) return undefined;
    const run = this.#active.get(row.run_id) ?? this.#load(row);
    this.#latest.set(workflowId, run);
    return run;
  }

  isTaken(workflowId: string): boolean {
    return this.#latest.has(workflowId) || this.tables.latestRun(workflowId) !== undefined;
  }

  /** @throws WorkflowNotFoundError */
  select({ workflowId, runId }: RunSelector): ActiveRun {
    const run = runId === undefined ? this.latest(workflowId) : this.get(runId);
    if (!run || run.state.workflowId !== workflowId) throw notFound({ workflowId, runId });
    return run;
  }

  /** The committed row. @throws WorkflowNotFoundError */
  selectRow({ workflowId, runId }: RunSelector): RunRow {
    const row = runId === undefined ? this.tables.latestRun(workflowId) : this.tables.runById(runId);
    if (!row || row.workflow_id !== workflowId) throw notFound({ workflowId, runId });
    return row;
  }

  /**
   * After a commit: closed runs leave; of the open ones the quiet leave, oldest first, when there are too many. A turn
   * or step that waits for a worker does not keep its run here: the queue knows it by its id.
   */
  settle(committed: Iterable<ActiveRun>): void {
    for (const run of committed) if (run.isClosed && run.isQuiet) this.drop(run);
    if (this.#active.size <= this.maxQuiet) return;
    let looks = Math.min(this.#active.size - this.maxQuiet, MAX_LOOKS);
    for (const run of this.#active.values()) {
      if (looks-- <= 0) return;
      if (run.isQuiet) this.drop(run);
      else this.#renew(run);
    }
  }

  drop(run: ActiveRun): void {
    this.#active.delete(run.state.runId);
    if (this.#latest.get(run.state.workflowId) === run) this.#latest.delete(run.state.workflowId);
  }

  get size(): number {
    return this.#active.size;
  }

  /** A busy run goes to the end, so that the next search for quiet ones does not meet it again at once. */
  #renew(run: ActiveRun): void {
    this.#active.delete(run.state.runId);
    this.#active.set(run.state.runId, run);
  }

  #load(row: RunRow): ActiveRun {
    const run = this.tables.loadRun(row);
    this.#active.set(row.run_id, run);
    this.onLoaded(run);
    return run;
  }
}

function notFound({ workflowId, runId }: RunSelector): PerdureError {
  return runId === undefined
    ? new PerdureError('WorkflowNotFoundError', `there is no workflow with id "${workflowId}"`, {
        workflowId,
      })
    : new PerdureError('WorkflowNotFoundError', `workflow "${workflowId}" has no run ${runId}`, {
        workflowId,
        runId,
      });
}
