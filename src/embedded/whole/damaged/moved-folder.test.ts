/** A release may be moved aside while its server runs, with the data folder in it, and another one take its place. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EmbeddedEngine } from '../../index.js';

it('a server goes on in its own folder, and copies that', async () => {
  const before = process.cwd();
  const root = mkdtempSync(join(tmpdir(), 'perdure-moved-'));
  mkdirSync(join(root, 'app'));
  process.chdir(join(root, 'app'));
  try {
    const engine = await EmbeddedEngine.open({ dataDir: '.data' });
    try {
      renameSync(join(root, 'app'), join(root, 'app.old'));
      mkdirSync(join(root, 'app/.data'), { recursive: true });
      const { bytes, discard } = await engine.backup();
      await discard();
      expect(bytes).toBeGreaterThan(4_096);
      expect(readdirSync(join(root, 'app/.data'))).toEqual([]);
    } finally {
      await engine.close();
    }
  } finally {
    process.chdir(before);
    rmSync(root, { recursive: true });
  }
});
