/** A copy has all there was, and is looked through before it takes the place of a database. */
import { chmodSync, copyFileSync, cpSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { folder, start } from '../../started-run.fixture.js';
import { copyDataFolder, restoreDataFolder } from './offline-copy.js';

const inFolder = (...names: string[]) => join(folder.path, ...names);

/** The data folder as a kill leaves it: its last commits are in the log. */
async function killedFolder(): Promise<string> {
  const engine = folder.open();
  await start(engine, 'a');
  const killed = inFolder('killed');
  for (const name of ['perdure.db', 'perdure.db-wal', 'perdure.mark'])
    cpSync(inFolder(name), join(killed, name));
  await engine.close();
  return killed;
}

async function copyOf(dataDir: string): Promise<string> {
  const copy = inFolder('copy');
  await copyDataFolder(dataDir, copy, () => {});
  return copy;
}

it('is restored as long as nothing in it has changed', async () => {
  const engine = folder.open();
  await start(engine, 'a');
  await engine.close();
  const copy = await copyOf(folder.path);
  const place = inFolder('restored');
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

it('a database whose last commits are in the log beside it is no copy', async () => {
  const killed = await killedFolder();
  const place = inFolder('restored');
  expect(() => restoreDataFolder(join(killed, 'perdure.db'), place)).toThrow(
    /perdure\.db-wal has its last commits\. Nothing was restored/,
  );
  expect(existsSync(place)).toBe(false);
  expect(restoreDataFolder(await copyOf(killed), place)).toMatchObject({ runs: 1, problems: [] });
});

it('is not made of a folder that has lost commits, since nothing in it would say so', async () => {
  const killed = await killedFolder();
  rmSync(join(killed, 'perdure.db-wal'));
  await expect(copyOf(killed)).rejects.toThrow(/has lost its last \d+ commits.* --accept-loss/);
  expect(existsSync(inFolder('copy'))).toBe(false);
});

it('nobody else can read it, nor what was restored from one that others could', async () => {
  const engine = folder.open();
  await start(engine, 'a');
  await engine.close();
  const copy = await copyOf(folder.path);
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect(modeOf(copy)).toBe('600');
  chmodSync(copy, 0o644);
  const place = inFolder('restored');
  restoreDataFolder(copy, place);
  expect([modeOf(place), modeOf(join(place, 'perdure.db'))]).toEqual(['700', '600']);
});

it('may be of an older version, and not of a newer one', async () => {
  const engine = folder.open();
  await start(engine, 'a');
  await engine.close();
  const copy = await copyOf(folder.path);
  const ofVersion = (version: number, change = '') => {
    const file = inFolder(`version-${version}`);
    copyFileSync(copy, file);
    const db = new Database(file);
    db.exec(change);
    db.pragma(`user_version = ${version}`);
    db.close();
    return file;
  };
  expect(restoreDataFolder(ofVersion(7, 'DROP TABLE outbox'), inFolder('from-older'))).toMatchObject({
    ...{ runs: 1, problems: [] },
  });
  const newer = ofVersion(99);
  expect(() => restoreDataFolder(newer, inFolder('from-newer'))).toThrow(
    `nothing was restored: ${newer} has schema version 99, made by a newer perdure`,
  );
});
