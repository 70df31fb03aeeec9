import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Backups } from './backups.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-backups-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('a backup that finds no space leaves nothing behind, and is not in the way of the next', async () => {
  let isFull = true;
  const backups = new Backups(folder, async (file) => {
    writeFileSync(file, 'half of it');
    if (isFull) throw Object.assign(new Error('no space'), { code: 'SQLITE_FULL' });
  });
  await expect(backups.take()).rejects.toMatchObject({ name: 'StorageFullError' });
  expect(readdirSync(folder)).toEqual([]);
  isFull = false;
  const backup = await backups.take();
  expect(backup.bytes).toBe('half of it'.length);
  await backup.discard();
  expect(readdirSync(folder)).toEqual([]);
});
