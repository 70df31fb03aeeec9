/** The table of runs: a row each, found by its key and its ids, and by what it waits for. */
import type Database from 'better-sqlite3';
import type { Paused } from '../../../core/run/pause.js';
import type { RunFilter, TraceInfo } from '../../../engine.js';
import type { ActiveRun, HeldBack, Saved } from '../active-run.js';
import { DamagedRowError, DamagedRunError, reading, storageFailure, unlessDamaged } from '../damage.js';
import {
  checksumOfTrace,
  INSERT_RUN,
  insertedValues,
  type RunRow,
  requireSound,
  rowOf,
  UPDATE_RUN,
  updatedValues,
} from './run-row.js';

/** Rows that a question to which a rough answer will do may look at. */
const LOOKED_AT = 10_000;

interface ExpiredRun {
  key: number;
  runId: string;
  firstRunId: string;
}

export class RunTable {
  readonly #db: Database.Database;
  readonly #sql;
  /** Rows that cannot be read. */
  readonly #unreadable = new Set<number>();
  /** Rows that can be read, and were left out because they cannot be what was written. */
  readonly #unsound = new Set<number>();

  constructor(
    db: Database.Database,
    private readonly tell: {
      /** Once of every row that cannot be read. */
      unreadable(what: string, error: Error): void;
      /** Of every row that cannot be what was written, where it is left out among others. */
      unsound(error: DamagedRunError): void;
    },
  ) {
    this.#db = db;
    this.#sql = {
      insert: db.prepare(INSERT_RUN),
      update: db.prepare(UPDATE_RUN),
      updateTrace: db.prepare('UPDATE runs SET trace = ?, trace_checksum = ? WHERE key = ?'),
      byId: db.prepare('SELECT * FROM runs WHERE run_id = ?'),
      latest: db.prepare('SELECT * FROM runs WHERE workflow_id = ? ORDER BY key DESC LIMIT 1'),
      maxKey: db.prepare('SELECT coalesce(max(key), 0) FROM runs').pluck(),
      active: db.prepare('SELECT key FROM runs WHERE is_active = 1 AND damaged IS NULL ORDER BY key').pluck(),
      heldBack: db
        .prepare(
          'SELECT key FROM runs WHERE catalog = ? AND held_back IS NOT NULL AND key > ? ORDER BY key LIMIT ?',
        )
        .pluck(),
      heldBackCount: db.prepare('SELECT count(*) FROM runs WHERE held_back IS NOT NULL').pluck(),
      openRunOf: db.prepare(
        `SELECT 1 FROM (SELECT catalog FROM runs WHERE status = 'running' ORDER BY key DESC LIMIT ${LOOKED_AT})
         WHERE catalog = ? LIMIT 1`,
      ),
      due: db
        .prepare('SELECT key FROM runs WHERE wake_at <= ? AND damaged IS NULL ORDER BY wake_at LIMIT ?')
        .pluck(),
      nextWakeAt: db
        .prepare('SELECT min(wake_at) FROM runs WHERE wake_at IS NOT NULL AND damaged IS NULL')
        .pluck(),
      setApart: db.prepare('UPDATE runs SET damaged = ? WHERE key = ?'),
      anyDamaged: db.prepare('SELECT 1 FROM runs WHERE damaged IS NOT NULL LIMIT 1'),
      tryAgain: db.prepare(
        'UPDATE runs SET damaged = NULL, is_active = (closed_at IS NULL) WHERE damaged IS NOT NULL',
      ),
      byKey: db.prepare('SELECT * FROM runs WHERE key = ?'),
      expired: db
        .prepare(
          `SELECT key FROM runs WHERE closed_at IS NOT NULL AND closed_at <= ?
           AND NOT EXISTS (SELECT 1 FROM runs later WHERE later.first_run_id = runs.run_id AND later.first_run_id <> later.run_id)
           AND key NOT IN (SELECT run_key FROM closings)
           AND key NOT IN (SELECT run_key FROM outbox)
           ORDER BY closed_at LIMIT ?`,
        )
        .pluck(),
      expiredFirst: db
        .prepare(
          `SELECT key FROM runs WHERE run_id = ? AND closed_at IS NOT NULL AND closed_at <= ?
           AND key NOT IN (SELECT run_key FROM closings)
           AND key NOT IN (SELECT run_key FROM outbox)`,
        )
        .pluck(),
      openDescendants: db
        .prepare(
          'SELECT tree, count(*) FROM runs INDEXED BY runs_open_by_tree WHERE tree IS NOT NULL AND closed_at IS NULL GROUP BY tree',
        )
        .raw(),
      newestInstant: db
        .prepare(
          'SELECT max(max(closed_at), (SELECT started_at FROM runs ORDER BY key DESC LIMIT 1)) FROM runs WHERE closed_at IS NOT NULL',
        )
        .pluck(),
      delete: db.prepare('DELETE FROM runs WHERE key = ? RETURNING coalesce(tree, first_run_id)').pluck(),
      chain: db
        .prepare(
          `SELECT key FROM runs WHERE run_id = @first
           UNION SELECT key FROM runs WHERE first_run_id = @first AND first_run_id <> run_id ORDER BY key`,
        )
        .pluck(),
      later: db
        .prepare('SELECT key FROM runs WHERE workflow_id = ? AND key > ? ORDER BY key DESC LIMIT ?')
        .pluck(),
      pausedOfTree: db
        .prepare(
          `SELECT key FROM runs WHERE paused IS NOT NULL AND key > @after AND (tree = @tree OR first_run_id = @tree)
           ORDER BY key LIMIT @limit`,
        )
        .pluck(),
      pausedAndOpen: db
        .prepare(`SELECT key FROM runs WHERE paused IS NOT NULL AND closed_at IS NULL`)
        .pluck(),
      descendants: db.prepare('SELECT key FROM runs WHERE tree = ? ORDER BY key').pluck(),
    };
  }

  // ── writing, inside a transaction ────────────────────────────────────────────────────────────────

  /** Writes the row where anything of it has changed, and returns what is saved of it now. */
  save(run: ActiveRun): Pick<Saved, 'isActive' | 'wakeAt'> {
    const { isActive, dueAt: wakeAt } = run;
    const isChanged =
      run.changed || run.isClosed || isActive !== run.savedActive || wakesTooLate(run.savedWakeAt, wakeAt);
    if (run.isNew) this.#sql.insert.run(...insertedValues(rowOf(run)));
    else if (isChanged) this.#sql.update.run(...updatedValues(rowOf(run)));
    else return { isActive, wakeAt: run.savedWakeAt };
    return { isActive, wakeAt };
  }

  saveTrace(key: number, trace: TraceInfo): void {
    const text = JSON.stringify(trace);
    this.#sql.updateTrace.run(text, checksumOfTrace(key, text), key);
  }

  /** Returns the tree that it was of. */
  delete(key: number): string | undefined {
    return this.#sql.delete.get(key) as string | undefined;
  }

  /** The run is set apart until the next start. */
  setApart(key: number, reason: string): void {
    this.#sql.setApart.run(reason, key);
  }

  /** At a start: what was damaged may have been restored. It is taken up, since it may have missed something. */
  tryDamagedAgain(): void {
    this.#sql.tryAgain.run();
  }

  // ── reading what is committed ────────────────────────────────────────────────────────────────────

  /** @throws DamagedRunError when the row cannot be what was written, as do the others that read one */
  byId(runId: string): RunRow | undefined {
    const row = reading(() => this.#sql.byId.get(runId) as RunRow | undefined);
    if (!row) return undefined;
    requireSound(row, { runId });
    requireFound(row.run_id === runId, 'run ids', runId);
    return row;
  }

  latest(workflowId: string): RunRow | undefined {
    const row = reading(() => this.#sql.latest.get(workflowId) as RunRow | undefined);
    if (!row) return undefined;
    requireSound(row, { workflowId });
    requireFound(row.workflow_id === workflowId, 'workflow ids', workflowId);
    return row;
  }

  byKey(key: number): RunRow | undefined {
    const row = reading(() => this.#sql.byKey.get(key) as RunRow | undefined);
    if (row) requireSound(row);
    return row;
  }

  maxKey(): number {
    return reading(() => this.#sql.maxKey.get() as number);
  }

  /** Runs that had something queued or with a worker when the process ended. */
  active(): string[] {
    return this.idsOf(reading(() => this.#sql.active.all() as number[]));
  }

  due(now: number, limit: number): string[] {
    const most = limit + this.#unreadable.size + this.#unsound.size;
    return this.idsOf(reading(() => this.#sql.due.all(now, most) as number[]));
  }

  nextWakeAt(): number | undefined {
    return reading(() => this.#sql.nextWakeAt.get() as number | null) ?? undefined;
  }

  /** Up to `limit` of them, with what is known of the code that could not go on with each. */
  heldBack(
    catalog: string,
    after: number,
    limit: number,
  ): { key: number; runId: string; workflowType: string; misfits: ReadonlySet<string> }[] {
    const keys = reading(() => this.#sql.heldBack.all(catalog, after, limit) as number[]);
    return this.#rowsOf(keys).map((row) => {
      const { misfits = [] } = JSON.parse(row.held_back ?? '{}') as Partial<HeldBack>;
      return { key: row.key, runId: row.run_id, workflowType: row.workflow_type, misfits: new Set(misfits) };
    });
  }

  heldBackCount(): number {
    return unlessDamaged(() => this.#sql.heldBackCount.get() as number) ?? 0;
  }

  /** Whether one of the youngest open runs is of the catalog: looking at all of them could take long. */
  hasOpen(catalog: string): boolean {
    return unlessDamaged(() => this.#sql.openRunOf.get(catalog)) !== undefined;
  }

  /** The runs of the chain that began with this one, over continue-as-new, retry and reset. */
  chainKeys(firstRunId: string): number[] {
    return reading(() => this.#sql.chain.all({ first: firstRunId }) as number[]);
  }

  /** Up to `limit` runs of the id that were started after one, the latest first. */
  later({ workflow_id: workflowId, key }: RunRow, limit: number): RunRow[] {
    return this.#rowsOf(reading(() => this.#sql.later.all(workflowId, key, limit) as number[]));
  }

  /** All runs below the workflow whose first run this is, in the order in which they were started. */
  descendantKeys(tree: string): number[] {
    return reading(() => this.#sql.descendants.all(tree) as number[]);
  }

  /** Up to `limit` runs of the tree that are paused, whoever has done it, in the order in which they were started. */
  pausedOfTree(tree: string, after: number, limit: number): { key: number; runId: string }[] {
    const keys = reading(() => this.#sql.pausedOfTree.all({ tree, after, limit }) as number[]);
    return this.#rowsOf(keys).map(({ key, run_id: runId }) => ({ key, runId }));
  }

  /** The trees of which a run waits for its budget. */
  treesThatWaitForBudgets(): string[] {
    const rows = this.#rowsOf(reading(() => this.#sql.pausedAndOpen.all() as number[]));
    const waiting = rows.filter(
      ({ paused }) => (JSON.parse(paused ?? '{}') as Partial<Paused>).by === 'budget',
    );
    return [...new Set(waiting.map(({ tree, first_run_id: firstRunId }) => tree ?? firstRunId))];
  }

  /** How many open descendants each tree has. */
  openDescendants(): [tree: string, count: number][] {
    return unlessDamaged(() => this.#sql.openDescendants.all() as [string, number][]) ?? [];
  }

  /** The latest instant at which a run is known to have closed or, where none has, to have been started. */
  newestInstant(): number | undefined {
    return unlessDamaged(() => this.#sql.newestInstant.get() as number | null) ?? undefined;
  }

  /** Newest first, among the runs with these keys. */
  list(filter: RunFilter, keys: { from: number; before: number }, limit: number): RunRow[] {
    const where = ['key < @before', 'key >= @from'];
    if (filter.workflowType !== undefined) where.push('workflow_type = @workflowType');
    if (filter.catalog !== undefined) where.push('catalog = @catalog');
    if (filter.status !== undefined) where.push('status = @status');
    if (filter.workflowId !== undefined) where.push('workflow_id = @workflowId');
    if (filter.workflowIdPrefix !== undefined)
      where.push('substr(workflow_id, 1, length(@workflowIdPrefix)) = @workflowIdPrefix');
    if (filter.startedAfter !== undefined) where.push('started_at > @startedAfter');
    if (filter.startedBefore !== undefined) where.push('started_at < @startedBefore');
    if (filter.heldBack) where.push('held_back IS NOT NULL');
    if (filter.paused) where.push('paused IS NOT NULL');
    const select = this.#db.prepare(
      `SELECT * FROM runs WHERE ${where.join(' AND ')} ORDER BY key DESC LIMIT @limit`,
    );
    const rows: RunRow[] = [];
    for (let { from, before } = keys; ; ) {
      const wanted = limit - rows.length;
      const found = reading(() => select.all({ ...bound(filter), from, before, limit: wanted }) as RunRow[]);
      for (const row of found) if (this.#isSound(row)) rows.push(row);
      // What was left out has others behind it.
      if (rows.length === limit || found.length < wanted) return rows;
      before = Math.min(found.at(-1)!.key, before - 1);
    }
  }

  expired(closedBefore: number, limit: number): ExpiredRun[] {
    const most = limit + this.#unreadable.size + this.#unsound.size;
    const keys = reading(() => this.#sql.expired.all(closedBefore, most) as number[]);
    return this.#expiredAmong(keys, closedBefore);
  }

  /** The first runs of chains that have expired too, where these are all that is left behind them. */
  expiredFirst(expired: readonly ExpiredRun[], closedBefore: number): ExpiredRun[] {
    const leaving = new Set(expired.map(({ key }) => key));
    const firstRunIds = new Set(
      expired.filter(({ runId, firstRunId }) => runId !== firstRunId).map(({ firstRunId }) => firstRunId),
    );
    const keys: number[] = [];
    for (const firstRunId of firstRunIds) {
      const key = reading(() => this.#sql.expiredFirst.get(firstRunId, closedBefore) as number | undefined);
      const isLast = (each: number) => each === key || leaving.has(each);
      if (key !== undefined && this.chainKeys(firstRunId).every(isLast)) keys.push(key);
    }
    return this.#expiredAmong(keys, closedBefore);
  }

  #expiredAmong(keys: readonly number[], closedBefore: number): ExpiredRun[] {
    const expired: ExpiredRun[] = [];
    for (const row of this.#rowsOf(keys)) {
      const { key, run_id: runId, first_run_id: firstRunId, closed_at: closedAt } = row;
      // What is removed is gone: that its time has come is not left to an index alone.
      if (closedAt !== null && closedAt <= closedBefore) expired.push({ key, runId, firstRunId });
      else this.cannotRead(key, new Error('an index says that it closed at another time'));
    }
    return expired;
  }

  /** The keys come from an index alone, so that one row which cannot be read does not hide the others. */
  #rowsOf(keys: readonly number[]): RunRow[] {
    const rows: RunRow[] = [];
    for (const key of keys) {
      const row = this.#readableRow(key);
      if (row) rows.push(row);
      else if (row === null) this.cannotRead(key, new Error('an index names it, and it is not there'));
    }
    return rows;
  }

  idsOf(keys: readonly number[]): string[] {
    return this.#rowsOf(keys).map((row) => row.run_id);
  }

  hasDamaged(): boolean {
    return reading(() => this.#sql.anyDamaged.get()) !== undefined;
  }

  get unreadableCount(): number {
    return this.#unreadable.size;
  }

  /** Null of a run that is not there; undefined of one whose row cannot be read, or cannot be what was written. */
  #readableRow(key: number): RunRow | null | undefined {
    if (this.#unreadable.has(key)) return undefined;
    try {
      return this.byKey(key) ?? null;
    } catch (error) {
      if (storageFailure(error) !== 'definite') throw error;
      if (error instanceof DamagedRunError) this.#isUnsound(error);
      else this.cannotRead(key, error as Error);
      return undefined;
    }
  }

  #isSound(row: RunRow): boolean {
    try {
      requireSound(row);
      return true;
    } catch (error) {
      if (!(error instanceof DamagedRunError)) throw error;
      this.#isUnsound(error);
      return false;
    }
  }

  #isUnsound(error: DamagedRunError): void {
    this.#unsound.add(error.runKey);
    this.tell.unsound(error);
  }

  cannotRead(key: number, error: Error): void {
    this.#unreadable.add(key);
    this.tell.unreadable(`run number ${key}`, error);
  }
}

/** A row that an index has led to is the one that was looked for. */
function requireFound(isFound: boolean, index: string, value: string): void {
  if (!isFound) throw new DamagedRowError(`the index of ${index} leads to another run for "${value}"`);
}

/** What is bound: that a run is held back or paused is part of the text. */
const bound = ({ heldBack: _heldBack, paused: _paused, ...values }: RunFilter) => values;

/** A saved instant that is earlier than needed costs one look; a later one would lose the wake-up. */
function wakesTooLate(saved: number | undefined, needed: number | undefined): boolean {
  return needed !== undefined && (saved === undefined || saved > needed);
}
