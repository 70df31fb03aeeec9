/** Pages of the database file that are damaged: those of an index, and those of the tables. */
import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RunRef } from '../../../engine.js';
import { CATALOG, complete, ScriptedWorker, timer } from '../../scripted-worker.fixture.js';
import { checkDataFolder } from '../../store/check/check.js';
import { dbFile, edit, engine, folder, start, worker } from './damaged-folder.fixture.js';

describe('an index that is damaged', () => {
  it.each([
    'runs_by_wake_at',
    'runs_active',
    'runs_damaged',
    'runs_by_closed_at',
    'runs_by_first_run',
    'runs_open_by_tree',
    'runs_by_tree',
    'runs_paused',
  ])('keeps the server from starting, in one line that says what to do: %s', async (index) => {
    const run = await start('a');
    await worker.turn(timer(1, 60_000));
    await engine.recordTrace(run, {});
    await engine.close();
    let page = 0;
    edit(folder, (db) => {
      page = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(index) as number;
    });
    const bytes = readFileSync(dbFile(folder));
    // The kind of the page, which none has.
    bytes[(page - 1) * 4_096] = 0x7f;
    writeFileSync(dbFile(folder), bytes);
    expect(() => folder.open()).toThrow(/^the database in .* is damaged .*: restore a backup/);
    expect(checkDataFolder(folder.path).problems).not.toEqual([]);
  });
});

describe('a page of the file that is damaged', () => {
  const text = (name: string) => JSON.stringify(`${name} `.repeat(300));
  let runs: RunRef[];

  beforeEach(async () => {
    runs = [];
    for (let i = 0; i < 30; i++) {
      const run = await engine.start({
        workflowType: 'flow',
        catalog: CATALOG,
        input: [text(`input-${i}`)],
        workflowId: `w${i}`,
      });
      runs.push(run);
      await engine.recordTrace(run, { local: `/traces/${`trace-${i}-`.repeat(60)}` });
    }
    await engine.close();
  });

  /** Breaks the header of the table page that holds the text. */
  const breakPageWith = (wanted: string) => {
    const file = readFileSync(dbFile(folder));
    const LEAF_OF_TABLE = 0x0d;
    const page = Array.from({ length: file.length / 4_096 }, (_, index) => index * 4_096).find(
      (at) => file[at] === LEAF_OF_TABLE && file.subarray(at, at + 4_096).includes(wanted),
    )!;
    file.fill(0xff, page, page + 8);
    writeFileSync(dbFile(folder), file);
  };

  it.each([
    ['history', 'input-7 '],
    ['the run table', 'trace-7-'],
  ])('of %s costs the runs on it, and no other', async (_what, wanted) => {
    breakPageWith(wanted);
    const again = folder.open();
    const next = new ScriptedWorker(again);
    await expect(again.describe(runs[7]!)).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await expect(again.signal(runs[7]!, 's', [])).rejects.toMatchObject({ name: 'DataCorruptionError' });
    const reached = new Set<string>();
    while (!reached.has('w29')) reached.add((await next.turn(complete())).workflowId);
    expect(reached).not.toContain('w7');
    expect(await again.outcome({ workflowId: 'w29' }, { waitMs: 5_000 })).toMatchObject({
      status: 'completed',
    });
    expect(again.load().runsDamaged).toBeGreaterThan(0);
    await start('new', again);
    await again.close();
    const { problems } = checkDataFolder(folder.path);
    expect(problems.map(({ problem }) => problem).join()).toMatch(/malformed|SQLite: /);
  });
});
