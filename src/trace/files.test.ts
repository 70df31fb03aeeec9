import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newRunId } from '../core/values/id.js';
import { TraceFiles } from './files.js';

it('says which folder cannot be made, to whoever starts the program', async () => {
  const place = mkdtempSync(join(tmpdir(), 'perdure-traces-'));
  try {
    writeFileSync(join(place, 'file'), '');
    await expect(TraceFiles.open(join(place, 'file'))).rejects.toMatchObject({
      name: 'TraceFolderError',
      message: expect.stringMatching(/file.traces cannot be made \(ENOTDIR\): .*--data/),
    });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

it('says that the disk is full, and leaves nothing of what did not fit', async () => {
  const place = mkdtempSync(join(tmpdir(), 'perdure-traces-'));
  try {
    const files = await TraceFiles.open(place);
    const runId = newRunId(Date.now());
    // biome-ignore lint/correctness/useYield: it fails before the first
    const full = (function* (): Generator<string> {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    })();
    await expect(files.write(runId, full)).rejects.toMatchObject({ name: 'StorageFullError' });
    expect(readdirSync(files.folder)).toEqual([]);
    await files.write(runId, ['{}']);
    expect(await files.has(runId)).toBe(true);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});
