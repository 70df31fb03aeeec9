/** Copies of a database that no server has: out of a data folder, and into one. */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { isAlive } from '../../../core/is-alive.js';
import { makeFolder } from '../../../core/make-folder.js';
import { type CheckReport, checkDataFolder } from '../check/check.js';
import { storageFailure } from '../damage.js';
import { copyDatabase } from './copy-database.js';
import { logOf, requireWhole } from './data-folder.js';
import { DataFolderError } from './data-folder-error.js';
import { connectToSqlite, explainOpening, knownVersion, openDatabase } from './database.js';
import { MIGRATIONS } from './schema.js';
import { sync } from './sync.js';

export interface CopyProgress {
  /** Of `total`, in the same unit. */
  done: number;
  total: number;
}

/** Pages between two reports. */
const PAGES = 2_000;

/** @throws DataFolderError when there is nothing to copy, a server has the folder, or commits are missing from it */
export async function copyDataFolder(
  dataDir: string,
  file: string,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const source = join(dataDir, 'perdure.db');
  if (!existsSync(source))
    throw new DataFolderError(`there is no database in ${dataDir}: give its folder with --data`);
  let db: Database.Database | undefined;
  try {
    db = connectToSqlite(source, { readonly: true, timeout: 0 });
    // Read once: a copy of a database that a server has locked would end without a word and without a file.
    db.pragma('schema_version');
    // In the copy nothing would tell any more that it is not all there was.
    requireWhole(dataDir);
    await copyDatabase(db, file, {
      progress({ totalPages: total, remainingPages }) {
        onProgress({ done: total - remainingPages, total });
        return PAGES;
      },
    }).catch((error) => {
      throw explainCopying(error, dataDir, dirname(file));
    });
  } catch (error) {
    throw explainOpening(error, dataDir);
  } finally {
    db?.close();
  }
}

/** SQLite does not say which of the two files it was. */
function explainCopying(error: unknown, dataDir: string, place: string): unknown {
  if (storageFailure(error) === 'full')
    return new DataFolderError(`there is no space for the copy in ${place}: make some, and try again`);
  const { code, message } = error as { code?: string; message?: string };
  if (!code?.startsWith('SQLITE_IOERR')) return error;
  return new DataFolderError(
    `there is no copy: ${place} does not take it, as where files may only be so large, or ${dataDir} cannot be read (${code}: ${message}). Try it with a file elsewhere`,
  );
}

/**
 * Puts the copy into a folder that has no database, once it has been looked through. What is wrong with it is in the
 * report, and then nothing was put there. @throws DataFolderError
 */
export function restoreDataFolder(file: string, dataDir: string): CheckReport {
  for (const name of ['perdure.db', 'perdure.db-wal', 'perdure.mark'])
    if (existsSync(join(dataDir, name))) throw isThere(dataDir, name);
  if (!isDatabase(file))
    throw new DataFolderError(`${file} is no backup: give a file that \`perdure backup\` has made`);
  requireAllInOne(file);
  try {
    // In the folder itself, so that what was looked through gets its name without another copy.
    makeFolder(dataDir, 0o700);
    clearBrokenOff(dataDir);
    return putThroughTrial(file, dataDir);
  } catch (error) {
    throw explainOpening(error, dataDir);
  }
}

function putThroughTrial(file: string, dataDir: string): CheckReport {
  const trial = mkdtempSync(join(dataDir, `restoring-${process.pid}-`));
  try {
    const copy = join(trial, 'perdure.db');
    copyFileSync(file, copy);
    // Whoever made the copy may have let others read it.
    chmodSync(copy, 0o600);
    const report = lookedThrough(trial, file);
    if (report.problems.length === 0) {
      sync(copy);
      put(copy, dataDir);
      sync(dataDir);
    }
    return report;
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

/** The database of a data folder is no copy of it: its last commits are in the log. */
function requireAllInOne(file: string): void {
  const log = logOf(file);
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  throw new DataFolderError(
    `${file} is not all of a database: ${log} has its last commits. Nothing was restored. Copy its folder with \`perdure backup --data DIR FILE\`, and restore that`,
  );
}

function lookedThrough(trial: string, file: string): CheckReport {
  try {
    bringUpToDate(trial);
    return checkDataFolder(trial);
  } catch (error) {
    if (!(error instanceof DataFolderError)) throw error;
    // Nobody knows the folder of the trial, which is gone by now.
    const message = error.message.replaceAll(join(trial, 'perdure.db'), file).replaceAll(trial, file);
    throw new DataFolderError(`nothing was restored: ${message}`);
  }
}

/** A backup may be older than the program that is to go on with it. @throws DataFolderError for one that is newer */
function bringUpToDate(trial: string): void {
  const db = connectToSqlite(join(trial, 'perdure.db'), { readonly: true });
  let version: number;
  try {
    version = knownVersion(db, join(trial, 'perdure.db'));
  } catch (error) {
    throw explainOpening(error, trial);
  } finally {
    db.close();
  }
  if (version > 0 && version < MIGRATIONS.length) openDatabase(trial).close();
}

const FIRST_BYTES = 'SQLite format 3\0';

function isDatabase(file: string): boolean {
  if (!statSync(file).isFile()) return false;
  const descriptor = openSync(file, 'r');
  try {
    const beginning = Buffer.alloc(FIRST_BYTES.length);
    readSync(descriptor, beginning);
    return beginning.toString('latin1') === FIRST_BYTES;
  } finally {
    closeSync(descriptor);
  }
}

const isThere = (dataDir: string, name: string): DataFolderError =>
  new DataFolderError(
    `${dataDir} has a ${name} already, and nothing is overwritten: give an empty folder with --data`,
  );

/** Takes away what a restore has left that was killed. @throws DataFolderError when one is under way */
function clearBrokenOff(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const [, pid] = /^restoring-(\d+)-/.exec(name) ?? [];
    if (pid === undefined) continue;
    if (Number(pid) !== process.pid && isAlive(Number(pid)))
      throw new DataFolderError(
        `process ${pid} restores into ${dataDir}: wait for its end, or remove ${join(dataDir, name)} if it is none of perdure's`,
      );
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

/** File systems without links, as on many sticks. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'ENOSYS'];

/** By a link and not a rename, which would take the place of a database that a server has made there meanwhile. */
function put(copy: string, dataDir: string): void {
  const place = join(dataDir, 'perdure.db');
  try {
    linkSync(copy, place);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || existsSync(place)) throw isThere(dataDir, 'perdure.db');
    if (!NO_LINKS.includes(code)) throw error;
    renameSync(copy, place);
  }
}
