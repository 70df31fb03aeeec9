import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
