/**
 * Opens the database file: the settings that durability rests on, the lock, the schema and its migrations.
 *
 * 1. synchronous=FULL on every connection, read back: a build of SQLite may reopen a WAL file at NORMAL, which loses
 *    acknowledged commits in a power cut.
 * 2. One process per data folder: the file is locked exclusively for as long as it is open.
 * 3. A file of a newer schema is refused; an older one is migrated step by step, each in one transaction.
 */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { MIGRATIONS } from './schema.js';

/** The data folder cannot be used; the message is for the person who starts the program. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** "perdure" spelled in four bytes, so that another program's database is not taken for ours. */
const APPLICATION_ID = 0x70657264;

/** Before 3.51.3 a WAL file could be corrupted when it was reset. */
const MINIMUM_SQLITE = [3, 51, 3] as const;

export function openDatabase(dataDir: string): Database.Database {
  const file = join(dataDir, 'perdure.db');
  let db: Database.Database | undefined;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    if (!statSync(dataDir).isDirectory()) throw new DataFolderError(`${dataDir} is not a folder`);
    const isNew = !existsSync(file);
    db = new Database(file, { timeout: 0 });
    if (isNew) chmodSync(file, 0o600);
    requireSqliteVersion(db);
    // Before the first read: with it SQLite keeps the WAL index in memory and no second process can open the file.
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('trusted_schema = OFF');
    db.pragma('cell_size_check = ON');
    db.pragma('cache_size = -32768');
    db.pragma('temp_store = MEMORY');
    // Fewer checkpoints than by default (1,000 pages): a page that changes often is moved once for many changes.
    db.pragma('wal_autocheckpoint = 16000');
    requireSetting(db, 'journal_mode', 'wal');
    requireSetting(db, 'synchronous', 2);
    requireSetting(db, 'locking_mode', 'exclusive');
    migrate(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw explain(error, dataDir);
  }
}

function requireSqliteVersion(db: Database.Database): void {
  const version = db.prepare('SELECT sqlite_version()').pluck().get() as string;
  const parts = version.split('.').map(Number);
  for (let i = 0; i < MINIMUM_SQLITE.length; i++) {
    if (parts[i]! > MINIMUM_SQLITE[i]!) return;
    if (parts[i]! < MINIMUM_SQLITE[i]!) {
      throw new DataFolderError(
        `SQLite ${version} has a known corruption bug; ${MINIMUM_SQLITE.join('.')} or newer is needed: reinstall better-sqlite3`,
      );
    }
  }
}

function requireSetting(db: Database.Database, name: string, expected: string | number): void {
  const actual = db.pragma(name, { simple: true });
  if (actual !== expected) {
    throw new DataFolderError(
      `the database runs with ${name}=${String(actual)} and not ${expected}, so commits would not be durable; refusing to start`,
    );
  }
}

function migrate(db: Database.Database, file: string): void {
  const version = db.pragma('user_version', { simple: true }) as number;
  const applicationId = db.pragma('application_id', { simple: true }) as number;
  const isEmpty = version === 0 && db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (!isEmpty && applicationId !== APPLICATION_ID) {
    throw new DataFolderError(`${file} is a database of another program`);
  }
  if (version > MIGRATIONS.length) {
    throw new DataFolderError(
      `${file} has schema version ${version}, made by a newer perdure; this one knows up to ${MIGRATIONS.length}. Install the newer version again, or use another data folder`,
    );
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    db.transaction(() => {
      db.exec(MIGRATIONS[next]!);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${next + 1}`);
    }).exclusive();
  }
  // A write transaction, so that the exclusive lock is held from now on and not only from the first commit.
  db.exec('BEGIN EXCLUSIVE; COMMIT');
}

function explain(error: unknown, dataDir: string): Error {
  if (error instanceof DataFolderError) return error;
  const { code, message } = error as { code?: string; message?: string };
  switch (code) {
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return new DataFolderError(
        `the data folder ${dataDir} is in use by another perdure process: stop that one, or give this one its own folder with --data`,
      );
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_READONLY':
      return new DataFolderError(`the data folder ${dataDir} cannot be written to (${message})`);
    case 'ENOTDIR':
    case 'EEXIST':
      return new DataFolderError(`${dataDir} is not a folder`);
    case 'SQLITE_NOTADB':
    case 'SQLITE_CORRUPT':
      return new DataFolderError(
        `the database in ${dataDir} is damaged (${message}): restore a backup, or move it away to start empty`,
      );
    default:
      return error as Error;
  }
}
