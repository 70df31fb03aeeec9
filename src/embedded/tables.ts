/**
 * The statements: everything the engine reads from and writes to the database. No decision is made here.
 *
 * Values are always bound; the only text that is put together is the WHERE clause of the run list, from fixed pieces.
 */
import type Database from 'better-sqlite3';
import type { RegisteredWorkflow } from '../core/catalog.js';
import type { HistoryEvent, NewEvent } from '../core/event.js';
import { invariant } from '../core/invariant.js';
import type { ResultFormat, RunStatus } from '../core/run.js';
import type { RunFilter, TraceInfo } from '../engine.js';
import { ActiveRun, type HeldBack } from './active-run.js';
import { applyEvent, type Delivery, initialState, isActive } from './state.js';
import { decodeEvents, encodeEvents } from './stored-events.js';

export interface RunRow {
  key: number;
  run_id: string;
  workflow_id: string;
  workflow_type: string;
  catalog: string;
  status: RunStatus;
  started_at: number;
  closed_at: number | null;
  first_run_id: string;
  format: ResultFormat | null;
  is_active: 0 | 1;
  wake_at: number | null;
  held_back: string | null;
  trace: string | null;
}

interface PieceRow {
  last_event_id: number;
  events: string;
}

const eventsOf = (row: PieceRow): HistoryEvent[] => decodeEvents(row.events, row.last_event_id);

/** Events in one row, so that a page of a long history reads no more than it needs. */
const MAX_PIECE = 500;

export class Tables {
  readonly #db: Database.Database;
  readonly #sql;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#sql = {
      insertRun: db.prepare(
        `INSERT INTO runs (key, run_id, workflow_id, workflow_type, catalog, status, started_at, closed_at, first_run_id, format, is_active, wake_at, held_back)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      updateRun: db.prepare(
        'UPDATE runs SET status = ?, closed_at = ?, format = ?, is_active = ?, wake_at = ?, held_back = ? WHERE key = ?',
      ),
      updateTrace: db.prepare('UPDATE runs SET trace = ? WHERE key = ?'),
      insertHistory: db.prepare('INSERT INTO history (run_key, last_event_id, events) VALUES (?, ?, ?)'),
      insertInbox: db.prepare('INSERT INTO inbox (run_key, seq, events) VALUES (?, ?, ?)'),
      deleteInbox: db.prepare('DELETE FROM inbox WHERE run_key = ?'),
      upsertStep: db.prepare(
        'INSERT OR REPLACE INTO steps (run_key, scheduled_event_id, delivery) VALUES (?, ?, ?)',
      ),
      deleteStep: db.prepare('DELETE FROM steps WHERE run_key = ? AND scheduled_event_id = ?'),
      deleteSteps: db.prepare('DELETE FROM steps WHERE run_key = ?'),
      insertIdempotency: db.prepare('INSERT INTO idempotency (key, fingerprint, run_key) VALUES (?, ?, ?)'),
      saveCatalog: db.prepare('INSERT OR REPLACE INTO catalogs (name, workflows) VALUES (?, ?)'),
      runById: db.prepare('SELECT * FROM runs WHERE run_id = ?'),
      latestRun: db.prepare('SELECT * FROM runs WHERE workflow_id = ? ORDER BY key DESC LIMIT 1'),
      maxKey: db.prepare('SELECT coalesce(max(key), 0) FROM runs').pluck(),
      historyLength: db
        .prepare('SELECT last_event_id FROM history WHERE run_key = ? ORDER BY last_event_id DESC LIMIT 1')
        .pluck(),
      historyAfter: db.prepare(
        'SELECT last_event_id, events FROM history WHERE run_key = ? AND last_event_id > ? ORDER BY last_event_id',
      ),
      lastPiece: db.prepare(
        'SELECT last_event_id, events FROM history WHERE run_key = ? ORDER BY last_event_id DESC LIMIT 1',
      ),
      inbox: db.prepare('SELECT events FROM inbox WHERE run_key = ? ORDER BY seq').pluck(),
      steps: db.prepare('SELECT scheduled_event_id, delivery FROM steps WHERE run_key = ?'),
      active: db.prepare('SELECT run_id FROM runs WHERE is_active = 1 ORDER BY key').pluck(),
      heldBack: db.prepare('SELECT run_id FROM runs WHERE catalog = ? AND held_back IS NOT NULL').pluck(),
      due: db.prepare('SELECT run_id FROM runs WHERE wake_at <= ? ORDER BY wake_at LIMIT ?').pluck(),
      nextWakeAt: db.prepare('SELECT min(wake_at) FROM runs WHERE wake_at IS NOT NULL').pluck(),
      idempotency: db.prepare(
        'SELECT fingerprint, workflow_id AS workflowId, run_id AS runId FROM idempotency JOIN runs ON runs.key = run_key WHERE idempotency.key = ?',
      ),
      catalogs: db.prepare('SELECT name, workflows FROM catalogs'),
      expired: db.prepare(
        'SELECT key, run_id AS runId FROM runs WHERE closed_at IS NOT NULL AND closed_at <= ? ORDER BY closed_at LIMIT ?',
      ),
      deleteHistory: db.prepare('DELETE FROM history WHERE run_key = ?'),
      deleteIdempotency: db.prepare('DELETE FROM idempotency WHERE run_key = ?'),
      deleteRun: db.prepare('DELETE FROM runs WHERE key = ?'),
    };
  }

  // ── writing, inside a transaction ────────────────────────────────────────────────────────────────

  /** Writes all that changed of the run since it was last saved. */
  saveRun(run: ActiveRun): void {
    const { state } = run;
    if (run.unsaved.length > 0) {
      for (let from = 0; from < run.unsaved.length; from += MAX_PIECE) {
        const piece =
          run.unsaved.length <= MAX_PIECE ? run.unsaved : run.unsaved.slice(from, from + MAX_PIECE);
        const text = encodeEvents(piece);
        run.historyBytes += text.length;
        this.#sql.insertHistory.run(run.key, piece[piece.length - 1]!.id, text);
      }
      run.unsaved = [];
    }
    this.#saveInbox(run);
    this.#saveSteps(run);
    const active = isActive(state);
    const wake = run.dueAt;
    const heldBack = run.heldBack ? JSON.stringify(run.heldBack) : null;
    if (run.isNew) {
      this.#sql.insertRun.run(
        run.key,
        state.runId,
        state.workflowId,
        state.started.workflowType,
        state.started.catalog,
        state.status,
        run.startedAt,
        state.closedAt,
        state.started.firstExecutionRunId,
        run.format ?? null,
        active ? 1 : 0,
        wake ?? null,
        heldBack,
      );
      run.isNew = false;
      run.savedWakeAt = wake;
    } else if (
      run.changed ||
      run.isClosed ||
      active !== run.savedActive ||
      wakesTooLate(run.savedWakeAt, wake)
    ) {
      this.#sql.updateRun.run(
        state.status,
        state.closedAt,
        run.format ?? null,
        active ? 1 : 0,
        wake ?? null,
        heldBack,
        run.key,
      );
      run.savedWakeAt = wake;
    }
    run.savedActive = active;
    run.changed = false;
  }

  #saveInbox(run: ActiveRun): void {
    if (run.inbox.length === run.savedInbox) return;
    if (run.inbox.length < run.savedInbox) {
      this.#sql.deleteInbox.run(run.key);
      run.savedInbox = 0;
    }
    for (let seq = run.savedInbox; seq < run.inbox.length; seq++) {
      this.#sql.insertInbox.run(run.key, seq, JSON.stringify(run.inbox[seq]));
    }
    run.savedInbox = run.inbox.length;
  }

  #saveSteps(run: ActiveRun): void {
    if (run.isClosed) {
      if (run.savedSteps.size > 0) this.#sql.deleteSteps.run(run.key);
      run.savedSteps.clear();
      run.changedSteps.clear();
      return;
    }
    for (const id of run.changedSteps) {
      const step = run.state.steps.get(id);
      if (step) {
        this.#sql.upsertStep.run(run.key, id, JSON.stringify(step.delivery));
        run.savedSteps.add(id);
      } else if (run.savedSteps.delete(id)) {
        this.#sql.deleteStep.run(run.key, id);
      }
    }
    run.changedSteps.clear();
  }

  saveIdempotency(key: string, fingerprint: string, runKey: number): void {
    this.#sql.insertIdempotency.run(key, fingerprint, runKey);
  }

  saveCatalog(name: string, workflows: RegisteredWorkflow[]): void {
    this.#sql.saveCatalog.run(name, JSON.stringify(workflows));
  }

  saveTrace(key: number, trace: TraceInfo): void {
    this.#sql.updateTrace.run(JSON.stringify(trace), key);
  }

  deleteRun(key: number): void {
    this.#sql.deleteHistory.run(key);
    this.#sql.deleteIdempotency.run(key);
    this.#sql.deleteRun.run(key);
  }

  // ── reading what is committed ────────────────────────────────────────────────────────────────────

  runById(runId: string): RunRow | undefined {
    return this.#sql.runById.get(runId) as RunRow | undefined;
  }

  latestRun(workflowId: string): RunRow | undefined {
    return this.#sql.latestRun.get(workflowId) as RunRow | undefined;
  }

  maxKey(): number {
    return this.#sql.maxKey.get() as number;
  }

  historyLength(key: number): number {
    return (this.#sql.historyLength.get(key) as number | undefined) ?? 0;
  }

  /** Up to `limit` events after event `afterEventId`, without reading further pieces than needed. */
  readEvents(key: number, afterEventId: number, limit = Number.POSITIVE_INFINITY): HistoryEvent[] {
    const events: HistoryEvent[] = [];
    for (const row of this.#sql.historyAfter.iterate(key, afterEventId)) {
      for (const event of eventsOf(row as PieceRow)) {
        if (event.id <= afterEventId) continue;
        if (events.length >= limit) return events;
        events.push(event);
      }
      if (events.length >= limit) return events;
    }
    return events;
  }

  firstEvent(key: number): HistoryEvent {
    const [first] = this.readEvents(key, 0, 1);
    invariant(first, `run ${key} has no history`);
    return first;
  }

  lastEvent(key: number): HistoryEvent {
    const row = this.#sql.lastPiece.get(key) as PieceRow | undefined;
    invariant(row, `run ${key} has no history`);
    return eventsOf(row).at(-1)!;
  }

  /** The run as the fold of its history, with the delivery of its steps and its inbox. */
  loadRun(row: RunRow): ActiveRun {
    let run: ActiveRun | undefined;
    let bytes = 0;
    for (const piece of this.#sql.historyAfter.iterate(row.key, 0)) {
      bytes += (piece as PieceRow).events.length;
      for (const event of eventsOf(piece as PieceRow)) {
        if (run) applyEvent(run.state, event);
        else run = new ActiveRun(row.key, initialState(row.run_id, event));
      }
    }
    invariant(run, `run ${row.run_id} has no history`);
    run.historyBytes = bytes;
    run.format = row.format ?? undefined;
    run.heldBack = row.held_back ? (JSON.parse(row.held_back) as HeldBack) : undefined;
    run.savedActive = row.is_active === 1;
    run.savedWakeAt = row.wake_at ?? undefined;
    if (run.isClosed) return run;
    for (const stored of this.#sql.steps.iterate(row.key)) {
      const { scheduled_event_id: id, delivery } = stored as { scheduled_event_id: number; delivery: string };
      const step = run.state.steps.get(id);
      invariant(step, `run ${row.run_id}: step ${id} has a delivery but is not pending`);
      step.delivery = JSON.parse(delivery) as Delivery;
      run.savedSteps.add(id);
    }
    for (const step of run.state.steps.values()) {
      if (step.delivery.status === 'running') run.handedOut.set(step.scheduledEventId, step.delivery.attempt);
    }
    run.inbox = (this.#sql.inbox.all(row.key) as string[]).map((text) => JSON.parse(text) as NewEvent[]);
    run.savedInbox = run.inbox.length;
    return run;
  }

  /** Runs that had something queued or with a worker when the process ended. */
  activeRuns(): string[] {
    return this.#sql.active.all() as string[];
  }

  heldBackRuns(catalog: string): string[] {
    return this.#sql.heldBack.all(catalog) as string[];
  }

  dueRuns(now: number, limit: number): string[] {
    return this.#sql.due.all(now, limit) as string[];
  }

  nextWakeAt(): number | undefined {
    return (this.#sql.nextWakeAt.get() as number | null) ?? undefined;
  }

  idempotency(key: string): { fingerprint: string; workflowId: string; runId: string } | undefined {
    return this.#sql.idempotency.get(key) as
      | { fingerprint: string; workflowId: string; runId: string }
      | undefined;
  }

  catalogs(): { name: string; workflows: RegisteredWorkflow[] }[] {
    return (this.#sql.catalogs.all() as { name: string; workflows: string }[]).map((row) => ({
      name: row.name,
      workflows: JSON.parse(row.workflows) as RegisteredWorkflow[],
    }));
  }

  expiredRuns(closedBefore: number, limit: number): { key: number; runId: string }[] {
    return this.#sql.expired.all(closedBefore, limit) as { key: number; runId: string }[];
  }

  /** Newest first, among the runs with these keys. */
  listRuns(filter: RunFilter, keys: { from: number; before: number }, limit: number): RunRow[] {
    const where = ['key < @before', 'key >= @from'];
    if (filter.workflowType !== undefined) where.push('workflow_type = @workflowType');
    if (filter.catalog !== undefined) where.push('catalog = @catalog');
    if (filter.status !== undefined) where.push('status = @status');
    if (filter.workflowId !== undefined) where.push('workflow_id = @workflowId');
    if (filter.workflowIdPrefix !== undefined)
      where.push('substr(workflow_id, 1, length(@workflowIdPrefix)) = @workflowIdPrefix');
    if (filter.startedAfter !== undefined) where.push('started_at > @startedAfter');
    if (filter.startedBefore !== undefined) where.push('started_at < @startedBefore');
    return this.#db
      .prepare(`SELECT * FROM runs WHERE ${where.join(' AND ')} ORDER BY key DESC LIMIT @limit`)
      .all({ ...filter, ...keys, limit }) as RunRow[];
  }
}

/** A saved instant that is earlier than needed costs one look; a later one would lose the wake-up. */
function wakesTooLate(saved: number | undefined, needed: number | undefined): boolean {
  return needed !== undefined && (saved === undefined || saved > needed);
}
