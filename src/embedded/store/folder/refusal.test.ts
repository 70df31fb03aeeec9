/** What keeps a server from starting on a folder is known without starting one. */
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { folder, start } from '../../started-run.fixture.js';
import { refusalOf } from './refusal.js';

/** A folder that a server has left, for the test to do as it likes with. */
async function leftFolder(): Promise<{ data: string; database: string }> {
  const engine = folder.open();
  await start(engine, 'a');
  await engine.close();
  const data = join(folder.path, 'left');
  for (const name of ['perdure.db', 'perdure.mark']) cpSync(join(folder.path, name), join(data, name));
  return { data, database: join(data, 'perdure.db') };
}

it('nothing is said against a folder that is new, that a server has, or that one has left', async () => {
  expect(refusalOf(folder.path)).toBeUndefined();
  const engine = folder.open();
  await start(engine, 'a');
  expect(refusalOf(folder.path)).toBeUndefined();
  await engine.close();
  expect(refusalOf(folder.path)).toBeUndefined();
});

it('a database of a newer version', async () => {
  const { data, database } = await leftFolder();
  const db = new Database(database);
  db.pragma('user_version = 99');
  db.close();
  expect(refusalOf(data)).toMatch(/schema version 99, made by a newer perdure/);
});

it('a database that is gone, and one that is none', async () => {
  const { data, database } = await leftFolder();
  rmSync(database);
  expect(refusalOf(data)).toMatch(/has lost its last \d+ commits/);
  expect(existsSync(database)).toBe(false);
  writeFileSync(database, 'no database');
  expect(refusalOf(data)).toMatch(/is damaged/);
});
