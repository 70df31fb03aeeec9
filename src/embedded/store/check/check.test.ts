/** `checkDataFolder` on folders that no server has left in an orderly way. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EmbeddedEngine } from '../../index.js';
import { DataFolderError } from '../folder/data-folder-error.js';
import { openDatabase } from '../folder/database.js';
import { checkDataFolder } from './check.js';

/** Of the schema, at which the word is damaged. */
const PLACES_OF_A_WORD = 3;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-check-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('tells in words that a first start was cut off', () => {
  // Before the log is turned on a database has a rollback journal. The files as they are in the middle of a commit are
  // what a power cut leaves.
  const making = new Database(join(folder, 'making.db'));
  making.pragma('cache_size = 1');
  making.exec('CREATE TABLE t (x)');
  making.exec('BEGIN; DROP TABLE t; CREATE TABLE u (x)');
  const insert = making.prepare('INSERT INTO u VALUES (?)');
  for (let i = 0; i < 100; i++) insert.run('x'.repeat(1_000));
  copyFileSync(join(folder, 'making.db'), join(folder, 'perdure.db'));
  copyFileSync(join(folder, 'making.db-journal'), join(folder, 'perdure.db-journal'));
  making.exec('ROLLBACK; DROP TABLE t');
  making.close();

  expect(() => checkDataFolder(folder)).toThrow(DataFolderError);
  expect(() => checkDataFolder(folder)).toThrow('start it once');
});

it('finds nothing wrong with a folder that was just made', () => {
  openDatabase(folder).close();
  expect(checkDataFolder(folder).problems).toEqual([]);
});

it('tells in words, as a start does, of every word of the schema that is damaged', async () => {
  openDatabase(folder).close();
  const file = join(folder, 'perdure.db');
  const bytes = readFileSync(file);
  const first = bytes.indexOf('CREATE TABLE');
  const text = bytes.toString('latin1', first, bytes.lastIndexOf('CREATE ') + 200);
  const seen = new Map<string, number>();
  for (const { 0: word, index } of text.matchAll(/[a-z_]+/gi)) {
    // The types of columns stand there a hundred times.
    const times = seen.get(word) ?? 0;
    seen.set(word, times + 1);
    if (times >= PLACES_OF_A_WORD) continue;
    const damaged = Buffer.from(bytes);
    damaged[first + index]! ^= 1;
    for (const look of [
      () => checkDataFolder(folder),
      () => EmbeddedEngine.open({ dataDir: folder }).close(),
    ]) {
      for (const beside of ['-wal', '-shm']) rmSync(`${file}${beside}`, { force: true });
      rmSync(join(folder, 'perdure.mark'), { force: true });
      writeFileSync(file, damaged);
      try {
        await look();
      } catch (error) {
        expect(error, `at ${text.slice(index, index + 40)}`).toBeInstanceOf(DataFolderError);
      }
    }
  }
});
