/**
 * The runs in memory: found, loaded, kept while they are active, dropped when they are quiet.
 *
 * 1. A run is in memory at most once, so whoever changes it changes the only copy.
 * 2. A run that is loaded has no turn under way, so its inbox goes into its history at once.
 * 3. Whoever asks for a run may change it, so what has to come before that is made of it first (`onTaken`).
 * 4. A run of which what is stored is damaged is set apart: to the engine it is not there, callers are told why, and all
 *    others go on.
 */
import { PerdureError } from '../../core/errors.js';
import { InvariantError } from '../../core/invariant.js';
import { TurnoverMap } from '../../core/values/turnover.js';
import type { RunRef, RunSelector } from '../../engine.js';
import type { ActiveRun } from './active-run.js';
import { DamagedRowError, DamagedRunError, isCorruption } from './damage.js';
import type { RunRow } from './tables/run-row.js';
import type { Tables } from './tables/tables.js';

/** Runs looked at after one commit, so that many busy ones do not slow every commit down. */
const MAX_LOOKS = 500;

export interface SetApart extends RunRef {
  key: number;
  reason: string;
  error: PerdureError;
  /** If it was in memory. */
  run: ActiveRun | undefined;
}

export class Runs {
  readonly #active = new TurnoverMap<string, ActiveRun>();
  /** The latest run of a workflow id, when that is in memory. */
  readonly #latest = new TurnoverMap<string, ActiveRun>();
  /** Runs that are set apart, by id. */
  readonly #damaged = new Map<string, PerdureError>();
  /** The same by their keys, which say whose row it is also where the id in it is damaged. */
  readonly #damagedKeys = new Map<number, PerdureError>();
  #lastKey: number;
  /** What the runs in memory hold. */
  #bytes = 0;

  constructor(
    private readonly tables: Tables,
    private readonly maxQuiet: { runs: number; bytes: number },
    private readonly onLoaded: (run: ActiveRun) => void,
    private readonly onTaken: (run: ActiveRun) => void,
    private readonly onSetApart: (damaged: SetApart) => void,
  ) {
    this.#lastKey = tables.runs.maxKey();
    tables.onUnsound = (error) => void this.explain(error);
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
    const run = this.#active.get(runId) ?? this.#read(runId);
    if (run) this.onTaken(run);
    return run;
  }

  #read(runId: string): ActiveRun | undefined {
    const row = this.#orSetApart(() => this.tables.runs.byId(runId));
    return row && this.#load(row);
  }

  latest(workflowId: string): ActiveRun | undefined {
    const run = this.#latest.get(workflowId) ?? this.#readLatest(workflowId);
    if (run) this.onTaken(run);
    return run;
  }

  /** The open run of the id. One that has closed is not read for it. */
  open(workflowId: string): ActiveRun | undefined {
    if (!this.#latest.has(workflowId)) {
      const row = this.#orSetApart(() => this.tables.runs.latest(workflowId));
      if (!row || row.closed_at !== null) return undefined;
    }
    const run = this.latest(workflowId);
    return run && !run.isClosed ? run : undefined;
  }

  /** What its row says of the latest run of the id, which is not read for it. */
  glance(workflowId: string): { runId: string; firstRunId: string; isClosed: boolean } | undefined {
    let active = this.#latest.get(workflowId);
    if (!active) {
      const row = this.#orSetApart(() => this.tables.runs.latest(workflowId));
      if (!row || this.#damaged.has(row.run_id) || this.#damagedKeys.has(row.key)) return undefined;
      active = this.#active.get(row.run_id);
      if (!active)
        return { runId: row.run_id, firstRunId: row.first_run_id, isClosed: row.closed_at !== null };
    }
    const { runId, started } = active.state;
    return { runId, firstRunId: started.firstExecutionRunId, isClosed: active.isClosed };
  }

  latestInMemory(workflowId: string): ActiveRun | undefined {
    return this.#latest.get(workflowId);
  }

  #readLatest(workflowId: string): ActiveRun | undefined {
    const row = this.#orSetApart(() => this.tables.runs.latest(workflowId));
    if (!row) return undefined;
    const run = this.#active.get(row.run_id) ?? this.#load(row);
    if (run) this.#latest.set(workflowId, run);
    return run;
  }

  /** Whose history the run began with: its own, unless a reset has made it. Undefined of one that is no longer kept. */
  originOf(runId: string): string | undefined {
    const active = this.#active.get(runId);
    if (active) return active.state.started.originalExecutionRunId;
    const row = this.#damaged.has(runId) ? undefined : this.#orSetApart(() => this.tables.runs.byId(runId));
    const first = row && this.tables.history.first(row.key);
    return first?.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes.originalExecutionRunId : undefined;
  }

  /** Also of a run that is set apart. */
  latestId(workflowId: string): string | undefined {
    const active = this.#latest.get(workflowId);
    if (active) return active.state.runId;
    try {
      return this.tables.runs.latest(workflowId)?.run_id;
    } catch (error) {
      if (!(error instanceof DamagedRunError)) throw error;
      this.explain(error);
      return error.ref?.runId;
    }
  }

  isTaken(workflowId: string): boolean {
    return this.latestId(workflowId) !== undefined;
  }

  /** Also of a run that is set apart. */
  isKept(runId: string): boolean {
    if (this.#active.has(runId) || this.#damaged.has(runId)) return true;
    const row = this.#orSetApart(() => this.tables.runs.byId(runId));
    return row !== undefined || this.#damaged.has(runId);
  }

  /** @throws WorkflowNotFoundError, DataCorruptionError */
  select({ workflowId, runId }: RunSelector): ActiveRun {
    const run = runId === undefined ? this.latest(workflowId) : this.get(runId);
    if (run && run.state.workflowId === workflowId) return run;
    // There is a row and no run where it is damaged.
    if (!run) this.selectRow({ workflowId, runId });
    throw notFound({ workflowId, runId });
  }

  /** The committed row. @throws WorkflowNotFoundError, DataCorruptionError */
  selectRow({ workflowId, runId }: RunSelector): RunRow {
    if (runId !== undefined) this.requireSound(runId);
    const row = runId === undefined ? this.tables.runs.latest(workflowId) : this.tables.runs.byId(runId);
    if (!row || row.workflow_id !== workflowId) throw notFound({ workflowId, runId });
    this.requireSound(row.run_id);
    const error = this.#damagedKeys.get(row.key);
    if (error) throw error;
    return row;
  }

  // ── damage ───────────────────────────────────────────────────────────────────────────────────────

  /** @throws DataCorruptionError when the run is set apart */
  requireSound(runId: string): void {
    const error = this.#damaged.get(runId);
    if (error) throw error;
  }

  get damagedCount(): number {
    return this.#damaged.size + this.tables.runs.unreadableCount;
  }

  /** The run cannot be what was written, or cannot be written: it is out of everybody's way from now on. */
  setApart({ workflowId, runId, key }: RunRef & { key: number }, reason: string): PerdureError {
    const known = this.#damaged.get(runId);
    if (known) return known;
    const error = new PerdureError(
      'DataCorruptionError',
      `what is stored of run ${runId} is damaged: ${reason}. The run is set apart and the others go on; "perdure check" tells more`,
      { workflowId, runId },
    );
    this.#damaged.set(runId, error);
    this.#damagedKeys.set(key, error);
    const run = this.#active.get(runId);
    if (run) this.drop(run);
    this.onSetApart({ workflowId, runId, key, reason, error, run });
    return error;
  }

  /** What a read of the tables threw, as a caller is told of it; undefined when it was not damage. */
  explain(error: unknown): PerdureError | undefined {
    if (error instanceof DamagedRunError) {
      const { runKey: key, message } = error;
      const ref = error.ref ?? this.#refOf(key);
      return ref ? this.setApart({ ...ref, key }, message) : unreadable(message);
    }
    return isCorruption(error) || error instanceof DamagedRowError ? unreadable(error.message) : undefined;
  }

  #refOf(key: number): RunRef | undefined {
    for (const { key: each, state } of this.#active.values()) {
      if (each === key) return { workflowId: state.workflowId, runId: state.runId };
    }
    try {
      const row = this.tables.runs.byKey(key);
      return row && { workflowId: row.workflow_id, runId: row.run_id };
    } catch (error) {
      if (error instanceof DamagedRunError) return error.ref;
      throw error;
    }
  }

  /** Undefined where the row that is read cannot be what was written. */
  #orSetApart(read: () => RunRow | undefined): RunRow | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DamagedRunError)) throw error;
      this.explain(error);
      return undefined;
    }
  }

  /**
   * After a commit: closed runs leave; of the open ones the quiet leave, oldest first, when there are too many. A turn
   * or step that waits for a worker does not keep its run here: the queue knows it by its id.
   */
  settle(committed: Iterable<ActiveRun>): void {
    for (const run of committed) {
      if (run.isClosed && run.isQuiet) this.drop(run);
      else if (this.#active.has(run.state.runId)) this.#count(run, run.heldBytes);
    }
    if (!this.#areTooMany) return;
    let looks = Math.min(this.#active.size, MAX_LOOKS);
    for (const run of this.#active.values()) {
      if (looks-- <= 0 || !this.#areTooMany) return;
      if (run.isQuiet) this.drop(run);
      else this.#renew(run);
    }
  }

  get #areTooMany(): boolean {
    return this.#active.size > this.maxQuiet.runs || this.#bytes > this.maxQuiet.bytes;
  }

  #count(run: ActiveRun, bytes: number): void {
    this.#bytes += bytes - run.countedBytes;
    run.countedBytes = bytes;
  }

  drop(run: ActiveRun): void {
    if (this.#active.delete(run.state.runId)) this.#count(run, 0);
    if (this.#latest.get(run.state.workflowId) === run) this.#latest.delete(run.state.workflowId);
  }

  /** The run is no longer on disk, so it must not be found here either. */
  removed(runId: string): void {
    const run = this.#active.get(runId);
    if (run) this.drop(run);
  }

  get size(): number {
    return this.#active.size;
  }

  /** A busy run goes to the end, so that the next search for quiet ones does not meet it again at once. */
  #renew(run: ActiveRun): void {
    this.#active.delete(run.state.runId);
    this.#active.set(run.state.runId, run);
  }

  /** Undefined when it is damaged. */
  #load(row: RunRow): ActiveRun | undefined {
    const { run_id: runId, workflow_id: workflowId, key } = row;
    if (this.#damaged.has(runId) || this.#damagedKeys.has(key)) return undefined;
    try {
      const run = this.tables.loadRun(row);
      this.#active.set(row.run_id, run);
      this.#count(run, run.heldBytes);
      this.onLoaded(run);
      return run;
    } catch (error) {
      // What waits in its inbox is folded in as it is loaded, and may not fit either.
      if (!(error instanceof DamagedRunError || error instanceof InvariantError)) throw error;
      this.setApart({ workflowId, runId, key }, error.message);
      return undefined;
    }
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

function unreadable(reason: string): PerdureError {
  return new PerdureError(
    'DataCorruptionError',
    `a part of the database cannot be read (${reason}); "perdure check" tells which`,
  );
}
