/**
 * The statements: everything the engine reads from and writes to the database, by table, and here what concerns several of
 * them. No decision is made here.
 *
 * Values are always bound; the only texts that are put together are those of a run's columns and the WHERE clause of the run
 * list, from fixed pieces.
 */
import type Database from 'better-sqlite3';
import type { CostRecord } from '../../../core/cost/cost.js';
import type { NewEvent } from '../../../core/history/event.js';
import { invariant } from '../../../core/invariant.js';
import { versionFromText } from '../../../core/run/version.js';
import { applyEvent, initialState } from '../../state/run-state.js';
import { ActiveRun, type HeldBack, type Saved } from '../active-run.js';
import { type DamagedRunError, reading, readingRun, storageFailure } from '../damage.js';
import { Inbox } from '../inbox.js';
import { ClosingTable } from './closing-table.js';
import { DeliveryTable } from './delivery-table.js';
import { Histories } from './histories.js';
import { IdempotencyTable } from './idempotency-table.js';
import { InboxTable } from './inbox-table.js';
import { OutboxTable } from './outbox-table.js';
import { PurseTable } from './purse-table.js';
import { Registrations } from './registrations.js';
import type { RunRow } from './run-row.js';
import { RunTable } from './run-table.js';

export class Tables {
  readonly runs: RunTable;
  readonly closings: ClosingTable;
  readonly deliveries: DeliveryTable;
  readonly history: Histories;
  readonly idempotency: IdempotencyTable;
  readonly inbox: InboxTable;
  readonly purses: PurseTable;
  readonly registrations: Registrations;
  readonly outbox: OutboxTable;
  readonly #orphans;
  /** What the transaction has written of histories and inboxes so far, by checksums. */
  #written = '';
  /** Told once of every row of a table that cannot be read. */
  onUnreadable: (what: string, error: Error) => void = () => {};
  /** Told of every row of a run that cannot be what was written, where it is left out among others. */
  onUnsound: (error: DamagedRunError) => void = () => {};

  constructor(db: Database.Database) {
    this.runs = new RunTable(db, {
      unreadable: (what, error) => this.onUnreadable(what, error),
      unsound: (error) => this.onUnsound(error),
    });
    this.closings = new ClosingTable(db);
    this.deliveries = new DeliveryTable(db);
    this.history = new Histories(db);
    this.idempotency = new IdempotencyTable(db);
    this.inbox = new InboxTable(db);
    this.purses = new PurseTable(db);
    this.outbox = new OutboxTable(db, (problem) =>
      this.onUnreadable('what others have still to hear of', new Error(problem)),
    );
    this.registrations = new Registrations(db, (what, error) => this.onUnreadable(what, error));
    this.#orphans = db.prepare(
      `SELECT DISTINCT 'history' AS "table", run_key AS runKey FROM history WHERE run_key NOT IN (SELECT key FROM runs)
         UNION ALL SELECT DISTINCT 'idempotency', run_key FROM idempotency WHERE run_key NOT IN (SELECT key FROM runs)
         UNION ALL SELECT DISTINCT 'inbox', run_key FROM inbox WHERE run_key NOT IN (SELECT key FROM runs WHERE closed_at IS NULL)
         UNION ALL SELECT DISTINCT 'steps', run_key FROM steps WHERE run_key NOT IN (SELECT key FROM runs WHERE closed_at IS NULL)
         UNION ALL SELECT 'closings', run_key FROM closings WHERE run_key NOT IN (SELECT key FROM runs WHERE closed_at IS NOT NULL)
         UNION ALL SELECT DISTINCT 'outbox', run_key FROM outbox WHERE run_key NOT IN (SELECT key FROM runs)`,
    );
  }

  // ── writing, inside a transaction ────────────────────────────────────────────────────────────────

  /** What was written since this was last asked, for the chain of commits. */
  takeWritten(): string {
    const written = this.#written;
    this.#written = '';
    return written;
  }

  /** Writes all that changed of the run since it was last saved, and changes nothing in it: `run.saved` is for after the commit. */
  saveRun(run: ActiveRun): Saved {
    const { bytes: historyBytes, written } = this.history.append(run.key, run.unsaved);
    this.#written += written;
    this.#written += this.inbox.save(run.key, run.inbox);
    this.deliveries.save(run);
    const { isActive, wakeAt } = this.runs.save(run);
    return { historyBytes, isActive, wakeAt };
  }

  deleteRun(key: number): void {
    try {
      this.history.delete(key);
      this.inbox.delete(key);
      this.deliveries.delete(key);
      this.idempotency.delete(key);
      const tree = this.runs.delete(key);
      if (tree !== undefined) this.purses.deleteUnused(tree);
    } catch (error) {
      // It must not be tried over and over.
      if (storageFailure(error) === 'definite') this.runs.cannotRead(key, error as Error);
      throw error;
    }
  }

  // ── reading what is committed ────────────────────────────────────────────────────────────────────

  /** The run as the fold of its history, with the delivery of its steps and its inbox. */
  loadRun(row: RunRow): ActiveRun {
    return readingRun(row.key, () => this.#loadRun(row));
  }

  #loadRun(row: RunRow): ActiveRun {
    let run: ActiveRun | undefined;
    let bytes = 0;
    for (const piece of this.history.pieces(row.key, 0)) {
      bytes += piece.bytes;
      for (const event of piece.events) {
        if (run) applyEvent(run.state, event);
        else run = new ActiveRun(row.key, initialState(row.run_id, event));
      }
    }
    invariant(run, 'it has no history');
    invariant(
      run.state.closedAt === row.closed_at && run.state.status === row.status,
      `its history says that it is ${run.state.status}, and the run table says ${row.status}`,
    );
    run.historyBytes = bytes;
    run.format = row.format ?? undefined;
    run.heldBack = row.held_back ? (JSON.parse(row.held_back) as HeldBack) : undefined;
    run.version = row.version === null ? undefined : versionFromText(row.version);
    run.savedActive = row.is_active === 1;
    run.savedWakeAt = row.wake_at ?? undefined;
    if (run.isClosed) return run;
    for (const { id, delivery } of this.deliveries.of(row.key)) {
      const step = run.state.steps.get(id);
      invariant(step, `step ${id} has a delivery but is not pending`);
      step.delivery = delivery;
      run.savedSteps.add(id);
    }
    for (const step of run.state.steps.values()) {
      if (step.delivery.status === 'running') run.handedOut.set(step.scheduledEventId, step.delivery.attempt);
    }
    run.inbox = Inbox.of(this.inbox.of(row.key));
    return run;
  }

  /** The run that was started with the idempotency key. @throws DamagedRowError, DamagedRunError */
  startedWith(key: string): { fingerprint: string; workflowId: string; runId: string } | undefined {
    const stored = this.idempotency.of(key);
    const run = stored && this.runs.byKey(stored.runKey);
    return run && { fingerprint: stored.fingerprint, workflowId: run.workflow_id, runId: run.run_id };
  }

  /** Closed runs of whose children some are still to end. */
  closingRuns(): string[] {
    for (const problem of this.closings.problems())
      this.onUnreadable('a run of whose children some are still to end', new Error(problem));
    return this.runs.idsOf(this.closings.keys());
  }

  /** What says what was spent and is not in the history yet: events that have arrived, and steps that are under way. */
  openCosts(key: number): { arrived: NewEvent[]; open: CostRecord[] } {
    return readingRun(key, () => {
      const arrived = this.inbox.of(key).flatMap((group) => group.events);
      const open = this.deliveries.of(key).flatMap(({ delivery }) => delivery.costs ?? []);
      return { arrived, open };
    });
  }

  /** Rows that belong to no run, or to none that is open, by table; there should be none. */
  orphans(): { table: string; runKey: number }[] {
    return reading(() => this.#orphans.all() as { table: string; runKey: number }[]);
  }
}
