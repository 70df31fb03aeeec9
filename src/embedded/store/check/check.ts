/**
 * Looks through a data folder for damage, without a server and without changing a file: SQLite's own check, the mark,
 * every checksum, and every run's history against the tables that follow from it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import type { RunRef } from '../../../engine.js';
import { DamagedRunError, storageFailure } from '../damage.js';
import { describeBrokenLog } from '../folder/broken-log.js';
import { NO_COMMITS, storedTip, type Tip } from '../folder/commit-chain.js';
import { acceptBroken, acceptLoss, findBroken, findLoss } from '../folder/data-folder.js';
import { DataFolderError } from '../folder/data-folder-error.js';
import { connectToSqlite, explainOpening } from '../folder/database.js';
import { describeLoss, type LostCommits } from '../folder/lost-commits.js';
import { MIGRATIONS } from '../folder/schema.js';
import { Tables } from '../tables/tables.js';
import { problemsOnDisk } from './projection-check.js';

export interface Problem {
  workflowId?: string;
  runId?: string;
  problem: string;
}

export interface CheckReport {
  /** The last commit that the database has. */
  tip: Tip;
  runs: number;
  /** Commits that the mark remembers and the database has not; or had not, when their loss was accepted. */
  lost: LostCommits | undefined;
  isLossAccepted: boolean;
  /** Empty when all is well. */
  problems: Problem[];
}

/** SQLite says no more than this about one file; what is wrong is clear by then. */
const MAX_INTEGRITY_LINES = 100;

/** @throws DataFolderError when there is nothing to look at, or a server has the folder */
export function checkDataFolder(dataDir: string, options: { acceptLoss?: boolean } = {}): CheckReport {
  const file = join(dataDir, 'perdure.db');
  if (!existsSync(file) && !existsSync(join(dataDir, 'perdure.mark'))) {
    throw new DataFolderError(`there is no database in ${dataDir}: give its folder with --data`);
  }
  requireNoServer(file, dataDir);
  const problems: Problem[] = [];
  const broken = options.acceptLoss ? accepting(dataDir, acceptBroken) : findBroken(dataDir);
  if (broken && !options.acceptLoss) problems.push({ problem: describeBrokenLog(dataDir, broken) });
  const lost = options.acceptLoss ? accepting(dataDir, acceptLoss) : findLoss(dataDir);
  const isLossAccepted = options.acceptLoss === true && (lost !== undefined || broken !== undefined);
  if (lost && !isLossAccepted) problems.push({ problem: describeLoss(dataDir, lost) });
  if (lost?.tip.seq === 0) return { tip: lost.tip, runs: 0, lost, isLossAccepted, problems };
  return reading(file, dataDir, (db) => {
    const version = db.pragma('user_version', { simple: true }) as number;
    integrity(db, problems);
    const isNew = version === 0 && db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
    if (isNew) return { tip: NO_COMMITS, runs: 0, lost, isLossAccepted, problems };
    if (version !== MIGRATIONS.length) {
      problems.push({
        problem: `the database has schema version ${version} and this program ${MIGRATIONS.length}: start the server that fits once, then check again`,
      });
      return { tip: storedTip(db), runs: 0, lost, isLossAccepted, problems };
    }
    const runs = checkTables(db, problems);
    return { tip: storedTip(db), runs, lost, isLossAccepted, problems };
  });
}

function accepting<T>(dataDir: string, accept: (dataDir: string) => T): T {
  try {
    return accept(dataDir);
  } catch (error) {
    throw explainOpening(error, dataDir);
  }
}

function requireNoServer(file: string, dataDir: string): void {
  if (existsSync(file)) reading(file, dataDir, (db) => db.pragma('schema_version'));
}

/** Opens the file only to read. */
function reading<T>(file: string, dataDir: string, read: (db: Database.Database) => T): T {
  let db: Database.Database | undefined;
  try {
    db = connectToSqlite(file, { readonly: true, timeout: 0 });
    return read(db);
  } catch (error) {
    throw explainOpening(error, dataDir);
  } finally {
    db?.close();
  }
}

function integrity(db: Database.Database, problems: Problem[]): void {
  const found = attempt(problems, 'the file', () => db.pragma(`integrity_check(${MAX_INTEGRITY_LINES})`)) as
    | { integrity_check: string }[]
    | undefined;
  for (const { integrity_check: line } of found ?? []) {
    if (line !== 'ok') problems.push({ problem: `SQLite: ${line}` });
  }
}

function checkTables(db: Database.Database, problems: Problem[]): number {
  const tables = new Tables(db);
  tables.onUnreadable = (what, error) =>
    problems.push({ problem: `${what} cannot be read: ${error.message}` });
  // From an index, so that a row which cannot be read does not hide those after it.
  const keys = attempt(problems, 'the list of runs', () =>
    db.prepare('SELECT key FROM runs INDEXED BY runs_by_run_id').pluck().all(),
  ) as number[] | undefined;
  for (const key of (keys ?? []).sort((a, b) => a - b)) checkRun(tables, key, problems);
  tables.registrations.lookThrough();
  const looks = [
    () => tables.idempotency.problems(),
    () => tables.purses.problems(),
    () => tables.closings.problems(),
    () => tables.outbox.problems(),
  ];
  for (const look of looks) {
    attempt(problems, 'a table', () => {
      for (const problem of look()) problems.push({ problem });
    });
  }
  const orphans = attempt(problems, 'the other tables', () => tables.orphans());
  for (const { table, runKey } of orphans ?? []) {
    problems.push({
      problem: `table ${table} has rows of run number ${runKey}, which is not there or is closed`,
    });
  }
  return keys?.length ?? 0;
}

function checkRun(tables: Tables, key: number, problems: Problem[]): void {
  let ref: RunRef | undefined;
  try {
    const row = attempt(problems, `run number ${key}`, () => tables.runs.byKey(key));
    if (!row) return;
    ref = { workflowId: row.workflow_id, runId: row.run_id };
    for (const problem of problemsOnDisk(tables, row)) problems.push({ ...ref, problem });
  } catch (error) {
    if (!(error instanceof DamagedRunError)) throw error;
    problems.push({ ...ref, ...error.ref, problem: error.message });
  }
}

/** Undefined when what is stored there makes no sense, which is then one of the problems. */
function attempt<T>(problems: Problem[], what: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (storageFailure(error) !== 'definite' || error instanceof DamagedRunError) throw error;
    problems.push({ problem: `${what} cannot be read: ${(error as Error).message}` });
    return undefined;
  }
}
