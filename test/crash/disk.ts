/** What is on disk, read from a copy of the data folder with nobody's help: neither server nor recovery has touched it. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { CostRecord } from '../../src/core/cost/cost.js';
import type { HistoryEvent, NewEvent } from '../../src/core/history/event.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import { MIGRATIONS } from '../../src/embedded/store/folder/schema.js';
import type { PurseRow } from '../../src/embedded/store/tables/purse-table.js';
import type { RunRow } from '../../src/embedded/store/tables/run-row.js';
import { Tables } from '../../src/embedded/store/tables/tables.js';

export interface StoredRun {
  row: RunRow;
  events: HistoryEvent[];
  /** Arrived during a turn; without numbers yet. */
  inbox: NewEvent[];
  /** What its steps have spent that are still open. */
  openCosts: CostRecord[];
}

export interface Disk {
  /** In the order of their starts. */
  runs: StoredRun[];
  /** Which run an idempotency key has made. */
  runOfKey(key: string): string | undefined;
  /** What trees of runs may spend and have spent. */
  purses: PurseRow[];
  /** What the product's own check says of it: checksums, the chain of commits, projection = fold of the history. */
  problems: string[];
}

const EMPTY: Disk = { runs: [], runOfKey: () => undefined, purses: [], problems: [] };

export function readDisk(dataDir: string): Disk {
  if (!existsSync(join(dataDir, 'perdure.db'))) return EMPTY;
  const copy = mkdtempSync(join(tmpdir(), 'perdure-crash-copy-'));
  try {
    cpSync(dataDir, copy, { recursive: true });
    // A first start that was cut off: what there is of tables was never used. Should anything have been acknowledged all
    // the same, it will be found missing.
    if (schemaVersion(copy) < MIGRATIONS.length) return EMPTY;
    const problems = checkDataFolder(copy).problems.map(
      ({ workflowId, problem }) => `check: ${workflowId ? `${workflowId}: ` : ''}${problem}`,
    );
    const db = new Database(join(copy, 'perdure.db'), { readonly: true });
    try {
      const tables = new Tables(db);
      const keys = db.prepare('SELECT key FROM runs ORDER BY key').pluck().all() as number[];
      const runs = keys.map((key) => {
        const row = tables.runs.byKey(key)!;
        const inbox = tables.loadRun(row).inbox.groups.flatMap(({ events }) => events);
        return { row, events: tables.history.read(key, 0), inbox, openCosts: tables.openCosts(key).open };
      });
      const runIds = new Map(runs.map(({ row }) => [row.key, row.run_id]));
      const byKey = new Map(
        db.prepare('SELECT key, run_key FROM idempotency').raw().all() as [string, number][],
      );
      const purses = db.prepare('SELECT * FROM purses').all() as PurseRow[];
      return { runs, purses, runOfKey: (key) => runIds.get(byKey.get(key) ?? -1), problems };
    } finally {
      db.close();
    }
  } catch (error) {
    // What cannot be read is as good as lost, and will be found missing as well.
    return { ...EMPTY, problems: [`the disk cannot be read: ${(error as Error).message}`] };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Read from another copy: a rollback journal that was left is played back, which only a writer may do. */
function schemaVersion(dataDir: string): number {
  const copy = mkdtempSync(join(tmpdir(), 'perdure-crash-version-'));
  try {
    if (!existsSync(join(dataDir, 'perdure.db-journal'))) return versionIn(dataDir);
    cpSync(dataDir, copy, { recursive: true });
    return versionIn(copy, false);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function versionIn(dataDir: string, readonly = true): number {
  const db = new Database(join(dataDir, 'perdure.db'), { readonly });
  try {
    return db.pragma('user_version', { simple: true }) as number;
  } finally {
    db.close();
  }
}
