/** A file of the store that somebody takes away while the engine runs. */
import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { RunRef } from '../../../engine.js';
import { dbFile, engine, folder, logs, reopen, start, walFile } from './damaged-folder.fixture.js';

describe('a file that is taken away from a running engine', () => {
  /** Starts runs until one is refused. Answers with those that were acknowledged. */
  async function startUntilRefused(): Promise<RunRef[]> {
    const acknowledged: RunRef[] = [];
    await vi.waitFor(async () => {
      const answer = await start().catch((error: Error) => error);
      if (!(answer instanceof Error)) acknowledged.push(answer);
      expect(answer).toMatchObject({ name: 'EngineUnavailableError' });
    }, 30_000);
    return acknowledged;
  }

  it.each(['removed', 'replaced'])('is missed from the first commit on: %s', async (how) => {
    const { lines, log } = logs();
    await reopen();
    await start();
    // Nothing is committed by the next one until somebody asks for it.
    await reopen({ log });
    const file = dbFile(folder);
    if (how === 'removed') rmSync(file);
    else {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    }
    expect(await start().catch((error: Error) => error)).toMatchObject({ name: 'EngineUnavailableError' });
    expect(lines.map(([, , { err }]) => String(err)).join()).toContain(`${file} was ${how}`);
  });

  it.each(['removed', 'replaced'])(
    'stops it, and nothing is written to another timeline: %s',
    async (how) => {
      const { lines, log } = logs();
      await reopen({ log });
      await start();
      const file = how === 'removed' ? walFile(folder) : dbFile(folder);
      if (how === 'removed') rmSync(file);
      else {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      }
      const other = readFileSync(dbFile(folder));
      const acknowledged = await startUntilRefused();
      expect(lines.map(([, , { err }]) => String(err)).join()).toContain(`${file} was ${how}`);
      await engine.close();
      if (how === 'replaced') {
        expect(readFileSync(file).equals(other)).toBe(true);
        return;
      }
      await reopen();
      for (const run of acknowledged) expect((await engine.describe(run)).status).toBe('running');
    },
  );
});
