import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { SourceWatch } from './watch.js';

/** Several times what a change takes to be told. */
const LONG_MS = 500;

it.each(['data', '.'])('a data folder among the sources is none of them: %s', async (data) => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-watch-'));
  mkdirSync(join(folder, data, 'traces'), { recursive: true });
  writeFileSync(join(folder, data, 'perdure.db'), '');
  const onChange = vi.fn();
  const watch = new SourceWatch(folder, { onChange, onFailure: (error) => expect.fail(error.message) });
  try {
    for (const name of ['perdure.db', 'perdure.db-wal', 'perdure.mark', 'traces/run.json'])
      writeFileSync(join(folder, data, name), 'a commit');
    await sleep(LONG_MS);
    expect(onChange).not.toHaveBeenCalled();
    writeFileSync(join(folder, 'workflow.ts'), '');
    await vi.waitFor(() => expect(onChange).toHaveBeenCalledOnce(), 10_000);
  } finally {
    watch.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
