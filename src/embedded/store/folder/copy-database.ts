/** A consistent copy of an open database in a file that only this user can read, as the database itself. */
import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { pathForDriver } from './database.js';

/** Leaves nothing behind when it fails, unless the file was there. */
export async function copyDatabase(
  db: Database.Database,
  file: string,
  options?: Database.BackupOptions,
): Promise<void> {
  const isNew = !existsSync(file);
  // SQLite would let everybody read a file that it makes by itself.
  closeSync(openSync(file, 'a', 0o600));
  try {
    await db.backup(pathForDriver(file), options);
  } catch (error) {
    // On a full disk SQLite leaves its journal, too.
    if (isNew) for (const left of [file, `${file}-journal`]) rmSync(left, { force: true });
    throw error;
  }
}
