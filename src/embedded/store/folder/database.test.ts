/** The settings that durability rests on, as SQLite itself gives them back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { explainOpening, openDatabase, requireSqliteVersion } from './database.js';

it.each(['the first time', 'again'])('a database that is opened %s syncs every commit', (when) => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-database-'));
  if (when === 'again') openDatabase(folder).close();
  const db = openDatabase(folder);
  try {
    const setting = (name: string) => db.pragma(name, { simple: true });
    // FULL: a commit has returned only when its frames of the write-ahead log are synced.
    expect(setting('synchronous')).toBe(2);
    expect(setting('journal_mode')).toBe('wal');
    expect(setting('locking_mode')).toBe('exclusive');
  } finally {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it.each([
  ['EROFS', /^the data folder \/data cannot be written to \(told by the system\)$/],
  ['EACCES', /cannot be written to/],
  ['SQLITE_READONLY', /cannot be written to/],
  ['ENOTDIR', /^\/data is not a folder$/],
  ['SQLITE_BUSY', /in use by another perdure process/],
  ['SQLITE_IOERR_READ', /the disk of the data folder \/data fails/],
  ['ENOSPC', /is full .* nothing was lost$/],
])('says in words why a folder cannot be opened: %s', (code, words) => {
  const error = Object.assign(new Error('told by the system'), { code });
  expect(explainOpening(error, '/data')).toMatchObject({
    name: 'DataFolderError',
    message: expect.stringMatching(words),
  });
});

it.each(['3.51.2', '3.46.1', '2.8.17'])('refuses an SQLite with a known corruption bug: %s', (version) => {
  const db = { prepare: () => ({ pluck: () => ({ get: () => version }) }) };
  expect(() => requireSqliteVersion(db as unknown as Database.Database)).toThrow(
    `SQLite ${version} has a known corruption bug`,
  );
});

it.each(['3.51.3', '3.53.0', '4.0.0'])('takes SQLite %s', (version) => {
  const db = { prepare: () => ({ pluck: () => ({ get: () => version }) }) };
  requireSqliteVersion(db as unknown as Database.Database);
});
