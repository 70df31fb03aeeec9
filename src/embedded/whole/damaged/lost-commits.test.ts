/** Commits that are gone keep the server from starting, and are not suspected where none is gone. */
import fs, { cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RunRef } from '../../../engine.js';
import { Folder } from '../../scripted-worker.fixture.js';
import { checkDataFolder } from '../../store/check/check.js';
import { acceptLoss } from '../../store/folder/data-folder.js';
import { DataFolderError } from '../../store/folder/data-folder-error.js';
import {
  copies,
  dbFile,
  engine,
  folder,
  killed,
  logs,
  markFile,
  start,
  walFile,
} from './damaged-folder.fixture.js';

describe('commits that are gone', () => {
  const runs: RunRef[] = [];
  beforeEach(async () => {
    runs.length = 0;
    for (let i = 0; i < 10; i++) runs.push(await start());
  });

  it('are missed wherever a bit of the write-ahead log has flipped', async () => {
    const { size } = statSync(walFile(folder));
    for (let trial = 0; trial < 25; trial++) {
      const copy = killed();
      const wal = readFileSync(walFile(copy));
      // Over all of the file, its header and the headers of its frames among it.
      const at = trial < 5 ? 32 + trial * 5 : Math.floor(((trial - 4) / 21) * (size - 1));
      wal[at]! ^= 1 << (trial % 8);
      writeFileSync(walFile(copy), wal);
      expect(() => copy.open(), `byte ${at} of ${size}`).toThrow(/has lost its last \d+ commits|is damaged/);
      // It is left as it was found.
      expect(readFileSync(walFile(copy)).equals(wal)).toBe(true);
    }
  });

  it('are missed in a damaged log also when the mark does not know them', async () => {
    const { size } = statSync(walFile(folder));
    for (const at of [4, 40, 60, Math.floor(size / 4), Math.floor(size / 2)]) {
      const copy = killed();
      const wal = readFileSync(walFile(copy));
      wal[at]! ^= 16;
      writeFileSync(walFile(copy), wal);
      rmSync(markFile(copy));
      expect(() => copy.open(), `byte ${at}`).toThrow(
        /is damaged at byte \d+: the \d+ commits behind it|is damaged/,
      );
      expect(readFileSync(walFile(copy)).equals(wal)).toBe(true);
      expect(checkDataFolder(copy.path).problems).not.toEqual([]);
      expect(checkDataFolder(copy.path, { acceptLoss: true })).toMatchObject({
        problems: [],
        isLossAccepted: true,
      });
      expect(existsSync(`${walFile(copy)}.given-up`)).toBe(true);
      copy.open();
    }
  });

  it('stay beside the database, all of them, however often a loss is accepted', () => {
    const copy = killed();
    const wal = readFileSync(walFile(copy));
    wal[Math.floor(wal.length / 4)]! ^= 16;
    writeFileSync(walFile(copy), wal);
    rmSync(dbFile(copy));
    // Both are given up: what is behind the damage, and the log that has lost its database.
    expect(checkDataFolder(copy.path, { acceptLoss: true })).toMatchObject({
      isLossAccepted: true,
      problems: [],
    });
    expect(readFileSync(`${walFile(copy)}.given-up`).equals(wal)).toBe(true);
    expect(existsSync(`${walFile(copy)}.given-up-2`)).toBe(true);
  });

  it('are kept whole where an acceptance was killed while it kept them', () => {
    const copy = killed();
    const wal = readFileSync(walFile(copy));
    wal[Math.floor(wal.length / 4)]! ^= 16;
    writeFileSync(walFile(copy), wal);
    writeFileSync(`${walFile(copy)}.keeping`, wal.subarray(0, 5_000));
    expect(checkDataFolder(copy.path, { acceptLoss: true })).toMatchObject({ isLossAccepted: true });
    expect(readFileSync(`${walFile(copy)}.given-up`).equals(wal)).toBe(true);
    expect(existsSync(`${walFile(copy)}.keeping`)).toBe(false);
  });

  it('cannot be accepted on a full disk, which is told', () => {
    const copy = killed();
    truncateSync(walFile(copy), Math.floor(statSync(walFile(copy)).size / 2));
    const { writeSync } = fs;
    const setWriteSync = (write: unknown) => {
      fs.writeSync = write as typeof writeSync;
      syncBuiltinESMExports();
    };
    setWriteSync(() => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    });
    try {
      expect(() => checkDataFolder(copy.path, { acceptLoss: true })).toThrow(DataFolderError);
    } finally {
      setWriteSync(writeSync);
    }
    expect(existsSync(`${markFile(copy)}.new`)).toBe(false);
    expect(checkDataFolder(copy.path).lost).toBeDefined();
    expect(checkDataFolder(copy.path, { acceptLoss: true })).toMatchObject({ isLossAccepted: true });
  });

  it('are missed from the last but one on: a power cut tears no more than the last', async () => {
    const FRAME_BYTES = 24 + 4_096;
    const copy = killed();
    const wal = readFileSync(walFile(copy));
    rmSync(markFile(copy));
    // A frame that ends a transaction holds the size of the database after it.
    const ends: number[] = [];
    for (let at = 32; at + FRAME_BYTES <= wal.length; at += FRAME_BYTES) {
      if (wal.readUInt32BE(at + 4) !== 0) ends.push(at + FRAME_BYTES);
    }
    wal[ends.at(-3)! + 100]! ^= 1;
    writeFileSync(walFile(copy), wal);
    expect(() => copy.open()).toThrow(/is damaged at byte \d+: the 2 commits behind it/);
  });

  it('are not suspected when a power cut has torn the last one', async () => {
    const copy = killed();
    const wal = readFileSync(walFile(copy));
    rmSync(markFile(copy));
    // Its last frame came to the disk, one before it did not.
    wal.fill(0, wal.length - 4_096 * 2, wal.length - 4_096 * 2 + 100);
    writeFileSync(walFile(copy), wal);
    expect((await copy.open().list({}, { limit: 100 })).runs).toHaveLength(9);
  });

  it.each([
    ['the write-ahead log is removed', (copy: Folder) => rmSync(walFile(copy))],
    ['the database is emptied', (copy: Folder) => truncateSync(dbFile(copy), 0)],
    ['the database is removed', (copy: Folder) => rmSync(dbFile(copy))],
    [
      'database and log are removed',
      (copy: Folder) => {
        rmSync(dbFile(copy));
        rmSync(walFile(copy));
      },
    ],
  ])('are missed when %s, with their number, time and runs', async (_what, damage) => {
    const copy = killed();
    damage(copy);
    const logged = () => statSync(walFile(copy), { throwIfNoEntry: false })?.size ?? 0;
    const before = logged();
    expect(() => copy.open()).toThrow(
      /has lost its last \d+ commits: it ends with commit 0.*made at 20.*--accept-loss/s,
    );
    expect(() => copy.open()).toThrow(runs[9]!.runId);
    expect(logged()).toBe(before);
  });

  it('are missed in an older copy of the database', async () => {
    const older = killed();
    const late = await start();
    const copy = killed();
    for (const file of [dbFile, walFile]) cpSync(file(older), file(copy));
    expect(() => copy.open()).toThrow(/has lost its last 1 commits/);
    expect(() => copy.open()).toThrow(late.runId);
  });

  it('are missed when others were made in their place', async () => {
    const older = killed();
    await start();
    const copy = killed();
    const other = older.open();
    await start(undefined, other);
    for (const file of [dbFile, walFile]) cpSync(file(older), file(copy));
    expect(() => copy.open()).toThrow('is another one than its mark was made for');
  });

  it('are missed in their place also when the last of each has written the same', async () => {
    const older = killed();
    await start();
    await engine.recordTrace(runs[0]!, {});
    const copy = killed();
    const other = older.open();
    await start(undefined, other);
    await other.recordTrace(runs[0]!, {});
    for (const file of [dbFile, walFile]) cpSync(file(older), file(copy));
    expect(() => copy.open()).toThrow('is another one than its mark was made for');
  });

  it('are given up when that is accepted', async () => {
    const copy = killed();
    const older = killed();
    await start();
    cpSync(markFile(folder), markFile(copy));
    expect(acceptLoss(copy.path)).toMatchObject({ count: 1 });
    expect((await copy.open().list({}, { limit: 100 })).runs).toHaveLength(10);
    expect(acceptLoss(older.path)).toBeUndefined();
    rmSync(dbFile(older));
    expect(acceptLoss(older.path)?.count).toBeGreaterThan(9);
    expect((await older.open().list({}, { limit: 100 })).runs).toEqual([]);
  });

  it('are not suspected when the mark is behind, and a mark that is missing is made anew', async () => {
    const copy = killed();
    const behind = readFileSync(markFile(folder));
    await start();
    const ahead = killed();
    writeFileSync(markFile(ahead), behind);
    expect((await ahead.open().list({}, { limit: 100 })).runs).toHaveLength(11);
    rmSync(markFile(copy));
    const { log, lines } = logs();
    const again = copy.open({ log });
    expect(lines).toEqual([['warn', expect.stringContaining('is made anew'), expect.anything()]]);
    await start(undefined, again);
    const third = copy.asKilled();
    copies.push(third);
    rmSync(walFile(third));
    expect(() => third.open()).toThrow(/has lost its last/);
  });

  it('are not suspected after an orderly end, nor in a backup', async () => {
    const backup = new Folder();
    copies.push(backup);
    await engine.backupTo(dbFile(backup));
    await engine.close();
    expect((await folder.open().list({}, { limit: 100 })).runs).toHaveLength(10);
    expect((await backup.open().list({}, { limit: 100 })).runs).toHaveLength(10);
  });
});
