/**
 * Opens the database file: the settings that durability rests on, the lock, the schema and its migrations.
 *
 * 1. synchronous=FULL on every connection, read back: a build of SQLite may reopen a WAL file at NORMAL, which loses
 *    acknowledged commits in a power cut.
 * 2. One process per data folder: the file is locked exclusively for as long as it is open.
 * 3. A file of a newer schema is refused; an older one is migrated step by step, each in one transaction.
 */
import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { isAbsolute, join, sep } from 'node:path';
import Database from 'better-sqlite3';
import { makeFolder } from '../../../core/make-folder.js';
import { rowChecksum } from '../checksum.js';
import { DataFolderError } from './data-folder-error.js';
import { MIGRATIONS } from './schema.js';

/** "perdure" spelled in four bytes, so that another program's database is not taken for ours. */
const APPLICATION_ID = 0x70657264;

/** Before 3.51.3 a WAL file could be corrupted when it was reset. */
const MINIMUM_SQLITE = [3, 51, 3] as const;

/** How long another process may hold the lock before it is said to have the folder. */
const LOCK_TIMEOUT_MS = 1_000;

/** Makes a connection to the file: SQLite's own, or one that fails where a test says so. */
export type Connect = (file: string, options: Database.Options) => Database.Database;

/**
 * The driver takes spaces off the path it is given, which then is another file's. A relative one stays so: the folder of a server
 * may be moved while it runs, and all its parts have to mean the same one.
 */
export const pathForDriver = (file: string): string => (isAbsolute(file) ? file : `.${sep}${file}`);

export const connectToSqlite: Connect = (file, options) => new Database(pathForDriver(file), options);

export function openDatabase(dataDir: string, connect = connectToSqlite): Database.Database {
  const file = join(dataDir, 'perdure.db');
  let db: Database.Database | undefined;
  try {
    makeFolder(dataDir, 0o700);
    if (!statSync(dataDir).isDirectory()) throw new DataFolderError(`${dataDir} is not a folder`);
    const isNew = !existsSync(file);
    // SQLite has other words for a file system that is mounted to be read only, which sound like a broken disk.
    if (!isNew) accessSync(file, constants.W_OK);
    // SQLite would let everybody read a file that it makes by itself, if only for a moment.
    else closeSync(openSync(file, 'a', 0o600));
    // Somebody may be looking at it for a moment, to start or to check.
    db = connect(file, { timeout: LOCK_TIMEOUT_MS });
    // Before the first statement: with it SQLite keeps the index of the write-ahead log in memory, which needs no space
    // on the disk, and no second process can open the file.
    db.pragma('locking_mode = EXCLUSIVE');
    requireSqliteVersion(db);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('trusted_schema = OFF');
    db.pragma('cell_size_check = ON');
    // 8 MiB. SQLite goes over all pages that it keeps whenever a commit has split one within an index, which most of them do
    // under load, and the system's own cache has the rest.
    db.pragma('cache_size = -8192');
    db.pragma('temp_store = MEMORY');
    // Fewer checkpoints than by default (1,000 pages): a page that changes often is moved once for many changes.
    db.pragma('wal_autocheckpoint = 16000');
    // What one large commit added to the log is given back when it is used again from its beginning.
    db.pragma('journal_size_limit = 67108864');
    requireSetting(db, 'journal_mode', 'wal');
    requireSetting(db, 'synchronous', 2);
    requireSetting(db, 'locking_mode', 'exclusive');
    migrate(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw explainOpening(error, dataDir);
  }
}

export function requireSqliteVersion(db: Database.Database): void {
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

/** The schema version of the file. Only reads. @throws DataFolderError for what this program cannot go on with */
export function knownVersion(db: Database.Database, file: string): number {
  const version = db.pragma('user_version', { simple: true }) as number;
  const applicationId = db.pragma('application_id', { simple: true }) as number;
  const isEmpty = version === 0 && db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (!isEmpty && applicationId !== APPLICATION_ID) {
    throw new DataFolderError(`${file} is a database of another program`);
  }
  if (version < 0 || (version === 0 && !isEmpty)) {
    throw new DataFolderError(
      `${file} is damaged: its schema version is ${version}, which no version of perdure has written. Restore a backup`,
    );
  }
  if (version > MIGRATIONS.length) {
    throw new DataFolderError(
      `${file} has schema version ${version}, made by a newer perdure; this one knows up to ${MIGRATIONS.length}. Install the newer version again, or use another data folder`,
    );
  }
  return version;
}

export function migrate(db: Database.Database, file: string): void {
  const version = knownVersion(db, file);
  if (version < MIGRATIONS.length) {
    db.function(
      'row_checksum',
      { varargs: true, deterministic: true },
      rowChecksum as (...values: unknown[]) => number,
    );
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    const migration = db.transaction(() => {
      requireFitting(file, next, () => db.exec(MIGRATIONS[next]!));
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${next + 1}`);
    });
    migration.exclusive();
  }
  // A write transaction, so that the exclusive lock is held from now on and not only from the first commit.
  db.exec('BEGIN EXCLUSIVE; COMMIT');
}

/** Runs statements that can only fail when the tables are not those of the schema version that the file claims. */
export function requireFitting<T>(file: string, version: number, statements: () => T): T {
  try {
    return statements();
  } catch (error) {
    if ((error as { code?: string }).code !== 'SQLITE_ERROR') throw error;
    throw new DataFolderError(
      `${file} is damaged: it claims schema version ${version}, but its tables are others (${(error as Error).message}). Restore a backup`,
    );
  }
}

/** What kept the folder from being opened, for the person who can put it right. */
export function explainOpening(error: unknown, dataDir: string): Error {
  if (error instanceof DataFolderError) return error;
  const { code, message } = error as { code?: string; message?: string };
  if (code?.startsWith('SQLITE_IOERR')) {
    return new DataFolderError(`the disk of the data folder ${dataDir} fails (${code}: ${message})`);
  }
  switch (code) {
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return new DataFolderError(
        `the data folder ${dataDir} is in use by another perdure process: stop that one, or give this one its own folder with --data`,
      );
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOENT':
    case 'ENAMETOOLONG':
    case 'ELOOP':
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_READONLY':
      return new DataFolderError(`the data folder ${dataDir} cannot be written to (${message})`);
    case 'ENOTDIR':
    case 'EEXIST':
      return new DataFolderError(`${dataDir} is not a folder`);
    case 'SQLITE_READONLY_ROLLBACK':
      return new DataFolderError(
        `the first start on the data folder ${dataDir} was cut off while it made the database, and only a server can tidy that up: start it once, then try again; nothing is lost`,
      );
    case 'SQLITE_FULL':
    case 'ENOSPC':
    case 'EDQUOT':
      return new DataFolderError(
        `the disk of the data folder ${dataDir} is full (${message}): make space and start again; nothing was lost`,
      );
    // Statements are right for their schema version, so it is the tables that are not.
    case 'SQLITE_ERROR':
    case 'SQLITE_NOTADB':
    case 'SQLITE_CORRUPT':
      return new DataFolderError(
        `the database in ${dataDir} is damaged (${message}): restore a backup, or move it away to start empty`,
      );
    default:
      return error as Error;
  }
}
