/** A copy is looked through before it takes the place of a database. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { folder, start } from '../../started-run.fixture.js';
import { copyDataFolder, restoreDataFolder } from './offline-copy.js';

it('is restored as long as nothing in it has changed', async () => {
  const engine = folder.open();
  await start(engine, 'a');
  await engine.close();
  const copy = join(folder.path, 'copy');
  await copyDataFolder(folder.path, copy, () => {});
  const place = join(folder.path, 'restored');
  const change = (from: string, to: string) => {
    const db = new Database(copy);
    db.prepare('UPDATE history SET events = replace(events, ?, ?)').run(from, to);
    db.close();
  };
  change('"flow"', '"flew"');
  expect(restoreDataFolder(copy, place).problems).toMatchObject([{ workflowId: 'a' }]);
  expect(existsSync(join(place, 'perdure.db'))).toBe(false);
  change('"flew"', '"flow"');
  expect(restoreDataFolder(copy, place).problems).toEqual([]);
  expect(existsSync(join(place, 'perdure.db'))).toBe(true);
});
