/**
 * The data folder: the database, its write-ahead log and the mark beside them, opened together.
 *
 * 1. What is missing is found before anything is written: a database that lost commits is left as it was found, so that
 *    it can still be put right.
 * 2. One process at a time has the folder; `openDatabase` takes the lock.
 */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import type { Scheduler } from '../../../core/clock.js';
import type { Log } from '../../../core/log.js';
import { storageFailure } from '../damage.js';
import { type BrokenLog, describeBrokenLog, findBrokenLog } from './broken-log.js';
import { CommitChain, NO_COMMITS, storedTip, type Tip } from './commit-chain.js';
import { DataFolderError } from './data-folder-error.js';
import { connectToSqlite, explainOpening, openDatabase } from './database.js';
import { describeLoss, type LostCommits, lostCommits } from './lost-commits.js';
import { Mark, type MarkedCommit } from './mark.js';
import { sync } from './sync.js';

export interface DataFolder {
  db: Database.Database;
  chain: CommitChain;
  /** Undefined where it could not be made, on a full disk; then there is none until the next start. */
  mark: Mark | undefined;
}

export const databaseFile = (dataDir: string) => join(dataDir, 'perdure.db');
export const walFile = (dataDir: string) => logOf(databaseFile(dataDir));
const markFile = (dataDir: string) => join(dataDir, 'perdure.mark');

/** The write-ahead log of a database: SQLite has it beside the file itself, and not beside a link to it. */
export function logOf(database: string): string {
  const isLink = lstatSync(database, { throwIfNoEntry: false })?.isSymbolicLink() && existsSync(database);
  return `${isLink ? realpathSync.native(database) : database}-wal`;
}

export function openDataFolder(
  dataDir: string,
  scheduler: Scheduler,
  log: Log,
  connect = connectToSqlite,
): DataFolder {
  const marked = readMark(dataDir);
  requireAll(dataDir, tipOnDisk(dataDir, marked ?? [], connect), marked ?? []);
  const broken = findBroken(dataDir);
  if (broken) throw new DataFolderError(describeBrokenLog(dataDir, broken));
  const db = openDatabase(dataDir, connect);
  try {
    const chain = new CommitChain(db);
    requireAll(dataDir, chain.tip, marked ?? []);
    beginNewLog(db);
    requireIndexes(db);
    return { db, chain, mark: openMark(dataDir, chain.tip, marked, scheduler, log) };
  } catch (error) {
    db.close();
    throw explainOpening(error, dataDir);
  }
}

/**
 * What a power cut has left of a commit that never was stays in the log behind its valid end until it is overwritten, and
 * would be taken for damage together with the next such rest. From here on the log is another one.
 */
function beginNewLog(db: Database.Database): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    // On a full disk the log stays as it is, which only a second power cut would make a false alarm of.
    if (storageFailure(error) !== 'full') throw error;
  }
}

/** What the engine looks for by an index at its start and from time to time. */
const INDEXED_LOOKS = [
  'SELECT min(wake_at) FROM runs WHERE wake_at IS NOT NULL AND damaged IS NULL',
  'SELECT key FROM runs WHERE is_active = 1 AND damaged IS NULL LIMIT 1',
  'SELECT key FROM runs WHERE damaged IS NOT NULL LIMIT 1',
  'SELECT max(closed_at) FROM runs WHERE closed_at IS NOT NULL',
  "SELECT key FROM runs WHERE first_run_id = '' AND first_run_id <> run_id",
  'SELECT tree FROM runs INDEXED BY runs_open_by_tree WHERE tree IS NOT NULL AND closed_at IS NULL LIMIT 1',
  'SELECT tree FROM runs INDEXED BY runs_by_tree WHERE tree IS NOT NULL LIMIT 1',
  'SELECT key FROM runs INDEXED BY runs_paused WHERE paused IS NOT NULL LIMIT 1',
];

/** One that is damaged is told at the start, in words, and not by whatever comes upon it first. */
function requireIndexes(db: Database.Database): void {
  for (const look of INDEXED_LOOKS) db.prepare(look).get();
}

function requireAll(dataDir: string, tip: Tip, marked: readonly MarkedCommit[]): void {
  const loss = lostCommits(tip, marked);
  if (loss) throw new DataFolderError(describeLoss(dataDir, loss));
}

/** @throws DataFolderError when commits are missing. Only reads. */
export function requireWhole(dataDir: string): void {
  const loss = findLoss(dataDir);
  if (loss) throw new DataFolderError(describeLoss(dataDir, loss));
  const broken = findBroken(dataDir);
  if (broken) throw new DataFolderError(describeBrokenLog(dataDir, broken));
}

/** What the database lacks of what its mark remembers. Only reads. @throws DataFolderError */
export function findLoss(dataDir: string): LostCommits | undefined {
  const marked = readMark(dataDir) ?? [];
  return lostCommits(tipOnDisk(dataDir, marked), marked);
}

/** Damage in the write-ahead log, also where the mark knows nothing of the commits behind it. Only reads. */
export function findBroken(dataDir: string): BrokenLog | undefined {
  return findBrokenLog(walFile(dataDir));
}

/** The log ends where it is damaged, as SQLite reads it anyway; all of it is kept beside. */
export function acceptBroken(dataDir: string): BrokenLog | undefined {
  const broken = findBroken(dataDir);
  if (!broken) return undefined;
  const wal = walFile(dataDir);
  keep(wal, givenUp(wal));
  truncateSync(wal, broken.offset);
  return broken;
}

/** On disk and whole before it has its name: what it is a copy of is cut off next. */
function keep(file: string, kept: string): void {
  const made = `${file}.keeping`;
  try {
    copyFileSync(file, made);
    sync(made);
    renameSync(made, kept);
  } catch (error) {
    rmSync(made, { force: true });
    throw error;
  }
  sync(dirname(kept));
}

/** The mark is set to what the database has; what the mark remembered beyond is given up. */
export function acceptLoss(dataDir: string): LostCommits | undefined {
  const loss = findLoss(dataDir);
  if (!loss) return undefined;
  const wal = walFile(dataDir);
  // A log without its database is of no use to the next one, but perhaps to somebody who looks for what was lost.
  if (sizeOf(databaseFile(dataDir)) === 0 && existsSync(wal)) renameSync(wal, givenUp(wal));
  if (loss.tip.seq === 0) rmSync(markFile(dataDir), { force: true });
  else Mark.create(markFile(dataDir), loss.tip);
  return loss;
}

/** A name for what is kept of the file, beside what was kept of it before. */
function givenUp(file: string): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? `${file}.given-up` : `${file}.given-up-${count}`;
    if (!existsSync(name)) return name;
  }
}

function readMark(dataDir: string): MarkedCommit[] | undefined {
  try {
    return Mark.read(markFile(dataDir));
  } catch (error) {
    throw explainOpening(error, dataDir);
  }
}

function openMark(
  dataDir: string,
  tip: Tip,
  marked: MarkedCommit[] | undefined,
  scheduler: Scheduler,
  log: Log,
): Mark | undefined {
  const file = markFile(dataDir);
  try {
    if (!marked || (marked.length === 0 && tip.seq > 0)) {
      if (tip.seq > 0) {
        const what = marked ? 'cannot be read' : 'is not there';
        log.warn(
          { file, commits: tip.seq },
          `the mark beside the database ${what}, so commits that are missing could not be noticed; it is made anew, as for a backup that was restored`,
        );
      }
      Mark.create(file, tip);
    }
    return new Mark(file, scheduler);
  } catch (error) {
    if (storageFailure(error) !== 'full') throw error;
    log.warn({ file }, 'the disk is full: the mark that finds lost commits is made at the next start');
    return undefined;
  }
}

/** Behind no mark. */
const NOT_LOOKED_AT: Tip = { ...NO_COMMITS, seq: Number.MAX_SAFE_INTEGER };

/** The last commit, read without changing a file: closing a connection that may write would tidy the log away. */
function tipOnDisk(dataDir: string, marked: readonly MarkedCommit[], connect = connectToSqlite): Tip {
  const file = databaseFile(dataDir);
  const wal = walFile(dataDir);
  if (sizeOf(file) === 0) {
    // SQLite takes an empty file for a new database, and removes the log of the old one.
    if (marked.length > 0 || sizeOf(wal) === 0) return NO_COMMITS;
    throw new DataFolderError(
      `${file} is ${existsSync(file) ? 'empty' : 'not there'}, but its write-ahead log is: restore it, or move the log away to start empty`,
    );
  }
  if (marked.length === 0) return NOT_LOOKED_AT;
  let db: Database.Database | undefined;
  try {
    db = connect(file, { readonly: true, timeout: 0 });
    return storedTip(db);
  } catch (error) {
    // On a full disk there is no room for the index of the log; then it is seen once the database is open.
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_IOERR_SHM')) return NOT_LOOKED_AT;
    throw explainOpening(error, dataDir);
  } finally {
    // An empty log and its index may stay behind. To remove them would take those of a process that has just begun.
    db?.close();
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
