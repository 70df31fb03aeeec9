import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemScheduler } from '../../../core/clock.js';
import { FilesInPlace } from './files-in-place.js';

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  return { ...real, statSync: vi.fn(real.statSync) };
});

let folder: string;
let now: number;
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'perdure-files-'));
  fs.writeFileSync(`${folder}/perdure.db`, '');
  now = 0;
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const opened = () => new FilesInPlace(folder, { ...systemScheduler, monotonicMs: () => (now += 2_000) });

it('stops nobody where the system does not let it look, and looks again when it may', () => {
  const files = opened();
  vi.mocked(fs.statSync).mockImplementationOnce(() => {
    throw Object.assign(new Error('EACCES: permission denied, stat'), { code: 'EACCES' });
  });
  files.require();
  fs.rmSync(`${folder}/perdure.db`);
  expect(() => files.require()).toThrow(/perdure\.db was removed while the server ran/);
});

it('knows a log that came later', () => {
  const files = opened();
  fs.writeFileSync(`${folder}/perdure.db-wal`, '');
  files.require();
  fs.rmSync(`${folder}/perdure.db-wal`);
  expect(() => files.require()).toThrow(/perdure\.db-wal was removed/);
});
