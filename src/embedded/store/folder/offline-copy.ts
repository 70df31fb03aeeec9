/** Copies of a database that no server has: out of a data folder, and into one. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type CheckReport, checkDataFolder } from '../check/check.js';
import { DataFolderError } from './data-folder-error.js';
import { explainOpening } from './database.js';

export interface CopyProgress {
  /** Of `total`, in the same unit. */
  done: number;
  total: number;
}

/** Pages between two reports. */
const PAGES = 2_000;

/** @throws DataFolderError when there is nothing to copy, or a server has the folder */
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
    db = new Database(source, { readonly: true, timeout: 0 });
    // Read once: a copy of a database that a server has locked would end without a word and without a file.
    db.pragma('schema_version');
    await db.backup(file, {
      progress({ totalPages: total, remainingPages }) {
        onProgress({ done: total - remainingPages, total });
        return PAGES;
      },
    });
  } catch (error) {
    throw explainOpening(error, dataDir);
  } finally {
    db?.close();
  }
}

/**
 * Puts the copy into a folder that has no database, once it has been looked through. What is wrong with it is in the
 * report, and then nothing was put there. @throws DataFolderError
 */
export function restoreDataFolder(file: string, dataDir: string): CheckReport {
  for (const name of ['perdure.db', 'perdure.db-wal', 'perdure.mark']) {
    if (existsSync(join(dataDir, name)))
      throw new DataFolderError(
        `${dataDir} has a ${name} already, and nothing is overwritten: give an empty folder with --data`,
      );
  }
  // In the folder itself, so that what was looked through gets its name by a rename.
  mkdirSync(dataDir, { recursive: true });
  const trial = mkdtempSync(join(dataDir, 'restoring-'));
  try {
    const copy = join(trial, 'perdure.db');
    copyFileSync(file, copy);
    const report = checkDataFolder(trial);
    if (report.problems.length === 0) {
      sync(copy);
      renameSync(copy, join(dataDir, 'perdure.db'));
      sync(dataDir);
    }
    return report;
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
