/** What a data folder holds of runs, read from the file while no engine has it. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { HistoryEvent, NewEvent } from '../../src/core/history/event.js';
import { markArrived } from '../../src/embedded/state/arrivals.js';
import type { RunRow } from '../../src/embedded/store/tables/run-row.js';
import { Tables } from '../../src/embedded/store/tables/tables.js';

export interface StoredRun {
  row: RunRow;
  events: HistoryEvent[];
  /** What waits in its inbox; it has no numbers yet. */
  waiting: NewEvent[];
}

/** An attempt of a step that somebody was making when the engine stopped. */
export interface CutOffAttempt {
  /** As a ledger knows it. */
  name: string;
  workflowId: string;
  /** The workflow id of the run at the root of its tree: that of the run itself when nobody is its parent. */
  tree: string;
}

export class Stored {
  readonly #db: Database.Database;
  readonly #tables: Tables;
  readonly #byWorkflowId = new Map<string, StoredRun[]>();

  constructor(dataDir: string) {
    // Only to read: to close it otherwise would tidy the write-ahead log away.
    this.#db = new Database(join(dataDir, 'perdure.db'), { readonly: true });
    this.#tables = new Tables(this.#db);
  }

  static look<T>(dataDir: string, look: (stored: Stored) => T): T {
    const stored = new Stored(dataDir);
    try {
      return look(stored);
    } finally {
      stored.#db.close();
    }
  }

  /** All runs of the id, oldest first. */
  runsOf(workflowId: string): StoredRun[] {
    let runs = this.#byWorkflowId.get(workflowId);
    if (!runs) {
      const rows = this.#db.prepare('SELECT * FROM runs WHERE workflow_id = ? ORDER BY key').all(workflowId);
      runs = (rows as RunRow[]).map((row) => ({
        row,
        events: this.#tables.history.read(row.key, 0),
        waiting: this.#tables.loadRun(row).inbox.groups.flatMap((group) => group.events),
      }));
      this.#byWorkflowId.set(workflowId, runs);
    }
    return runs;
  }

  /** All runs, oldest first. */
  *runs(): Generator<StoredRun> {
    const ids = this.#db.prepare('SELECT DISTINCT workflow_id FROM runs ORDER BY key').pluck().all();
    for (const workflowId of ids as string[]) yield* this.runsOf(workflowId);
  }

  *attempts(): Generator<CutOffAttempt> {
    for (const row of this.#db.prepare('SELECT * FROM runs WHERE closed_at IS NULL').all() as RunRow[]) {
      const { state, inbox } = this.#tables.loadRun(row);
      // What has ended one of them may wait there for the end of a turn.
      for (const { events } of inbox.groups) for (const event of events) markArrived(state, event);
      for (const { activityId, delivery, closing } of state.steps.values()) {
        if (delivery.status !== 'running' || closing) continue;
        const name = attemptName(`${state.runId}/${activityId}`, delivery.attempt);
        yield { name, workflowId: row.workflow_id, tree: this.#rootOf(row) };
      }
    }
  }

  #rootOf({ tree, workflow_id: own }: RunRow): string {
    const root = this.#db.prepare('SELECT workflow_id FROM runs WHERE run_id = ?').pluck().get(tree);
    return (root as string | undefined) ?? own;
  }

  /** Runs that somebody asked for from outside: no children, and nothing that follows a run by itself or by a reset. */
  startedFromOutside(): number {
    return this.#db
      .prepare('SELECT count(*) FROM runs WHERE first_run_id = run_id AND tree IS NULL')
      .pluck()
      .get() as number;
  }
}

export const attemptName = (idempotencyKey: string, attempt: number): string =>
  `${idempotencyKey} attempt ${attempt}`;

/**
 * What has happened to the run itself: without the copies that a reset makes of the history before it and of the messages
 * after it.
 */
export function ownEvents({ row, events, waiting }: StoredRun): NewEvent[] {
  let from = 0;
  events.forEach((event, index) => {
    if (event.type !== 'WORKFLOW_TASK_FAILED' || event.attributes.newRunId !== row.run_id) return;
    const turn = events.findIndex(({ type }, at) => at > index && type === 'WORKFLOW_TASK_SCHEDULED');
    from = turn < 0 ? events.length : turn;
  });
  return [...events.slice(from), ...waiting];
}
