/** Damage is found and told: commits that are gone keep the server from starting, a run that is damaged only itself. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunRef } from '../engine.js';
import type { EmbeddedEngine } from './index.js';
import {
  CATALOG,
  complete,
  Folder,
  HandClock,
  ScriptedWorker,
  step,
  timer,
} from './scripted-worker.fixture.js';
import { checkDataFolder } from './store/check/check.js';
import { acceptLoss } from './store/folder/data-folder.js';

let folder: Folder;
let engine: EmbeddedEngine;
let worker: ScriptedWorker;
const copies: Folder[] = [];

beforeEach(() => {
  folder = new Folder(true);
  engine = folder.open();
  worker = new ScriptedWorker(engine);
});
afterEach(async () => {
  for (const copy of copies.splice(0)) await copy.remove();
  await folder.remove();
});

function killed(): Folder {
  const copy = folder.asKilled();
  copies.push(copy);
  return copy;
}

const start = (workflowId?: string, on = engine): Promise<RunRef> =>
  on.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

/** Keeps what was logged. */
function logs() {
  const lines: [level: string, message: string, fields: Record<string, unknown>][] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push([level, message, fields as Record<string, unknown>]);
  return { lines, log: { debug() {}, info: at('info'), warn: at('warn'), error: at('error') } };
}

const edit = (at: Folder, change: (db: Database.Database) => void) => {
  const db = new Database(join(at.path, 'perdure.db'));
  change(db);
  db.close();
};

const dbFile = (at: Folder) => join(at.path, 'perdure.db');
const walFile = (at: Folder) => join(at.path, 'perdure.db-wal');
const markFile = (at: Folder) => join(at.path, 'perdure.mark');

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

  it.each(['removed', 'replaced'])(
    'stops it, and nothing is written to another timeline: %s',
    async (how) => {
      await engine.close();
      const { lines, log } = logs();
      engine = folder.open({ log });
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
      engine = folder.open();
      for (const run of acknowledged) expect((await engine.describe(run)).status).toBe('running');
    },
  );
});

describe('a damaged run', () => {
  let sound: RunRef;
  let damaged: RunRef;

  beforeEach(async () => {
    sound = await start('sound');
    await worker.turn(step(1));
    await worker.next('step');
    damaged = await start('damaged');
    const task = await worker.next('turn');
    worker.completeTurn(task, [step(1), timer(1, 10)]);
    await worker.next('step');
    const signalled = engine.signal(damaged, 'a', ['"text"']);
    await worker.next('turn');
    await signalled;
    await engine.signal(damaged, 'b', ['"text"']);
    await engine.close();
  });

  const history = (where: string) =>
    `run_key = (SELECT key FROM runs WHERE workflow_id = 'damaged') ${where}`;

  /** How many runs the list still has: it leaves out those of which it would tell what was never written. */
  it.each<[string, (db: Database.Database) => void, listed?: number]>([
    [
      'a character of an event',
      (db) => db.exec(`UPDATE history SET events = replace(events, '"flow"', '"flew"') WHERE ${history('')}`),
    ],
    [
      'events that are no JSON',
      (db) => db.exec(`UPDATE history SET events = substr(events, 2) WHERE ${history('')}`),
    ],
    [
      'events that went to another place',
      (db) => db.exec(`UPDATE history SET last_event_id = last_event_id + 100 WHERE ${history('')}`),
    ],
    [
      'a piece that is missing',
      (db) =>
        db.exec(
          `DELETE FROM history WHERE rowid = (SELECT rowid FROM history WHERE ${history('ORDER BY last_event_id LIMIT 1 OFFSET 1')})`,
        ),
    ],
    ['no history', (db) => db.exec(`DELETE FROM history WHERE ${history('')}`)],
    ['what waits in its inbox', (db) => db.exec(`UPDATE inbox SET events = replace(events, 'text', 'test')`)],
    [
      'a status that its history does not have',
      (db) => db.exec(`UPDATE runs SET status = 'completed', closed_at = 1 WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a time that is another',
      (db) => db.exec(`UPDATE runs SET started_at = started_at + 1024 WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a workflow of another name',
      (db) => db.exec(`UPDATE runs SET workflow_type = 'flew' WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a trace that was never recorded',
      (db) => db.exec(`UPDATE runs SET trace = '{}' WHERE workflow_id = 'damaged'`),
      1,
    ],
    [
      'a delivery of a step that it does not have',
      (db) => db.exec(`INSERT INTO steps SELECT key, 77, '{}', 0 FROM runs WHERE workflow_id = 'damaged'`),
    ],
  ])('is set apart for %s, and the others go on', async (_what, damage, listed = 2) => {
    edit(folder, damage);
    const { log, lines } = logs();
    const again = folder.open({ log });
    const next = new ScriptedWorker(again);
    const refused = { name: 'DataCorruptionError', details: { workflowId: 'damaged', runId: damaged.runId } };
    for (const selector of [damaged, { workflowId: 'damaged' }]) {
      await expect(again.history(selector, { afterEventId: 0, limit: 10 })).rejects.toMatchObject(refused);
      await expect(again.describe(selector)).rejects.toMatchObject(refused);
      await expect(again.outcome(selector, { waitMs: 1_000 })).rejects.toMatchObject(refused);
      await expect(again.signal(selector, 'b', [])).rejects.toMatchObject(refused);
      await expect(again.query(selector, 'q', [])).rejects.toMatchObject(refused);
      await expect(again.update(selector, 'u', [])).rejects.toMatchObject(refused);
      await expect(again.cancel(selector)).rejects.toMatchObject(refused);
      await expect(again.terminate(selector, 'r')).rejects.toMatchObject(refused);
      await expect(again.reset(selector, { stepName: 'work' })).rejects.toMatchObject(refused);
    }
    await expect(start('damaged', again)).rejects.toMatchObject({ name: 'WorkflowAlreadyExistsError' });
    next.completeStep(await next.next('step'));
    await next.turn(complete());
    expect(await again.outcome(sound, { waitMs: 5_000 })).toMatchObject({ status: 'completed' });
    expect(again.load().runsDamaged).toBe(1);
    expect(lines.filter(([level]) => level === 'error')).toEqual([
      [
        'error',
        expect.stringContaining('set apart'),
        expect.objectContaining({ workflowId: 'damaged', runId: damaged.runId }),
      ],
    ]);
    expect((await again.list({}, { limit: 10 })).runs).toHaveLength(listed);
  });

  it('goes on after a start with what was damaged restored', async () => {
    edit(folder, (db) => db.exec(`UPDATE inbox SET events = replace(events, 'text', 'test')`));
    const again = folder.open();
    await expect(again.describe(damaged)).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await again.ready();
    await again.close();
    edit(folder, (db) => {
      expect(db.prepare('SELECT count(*) FROM runs WHERE damaged IS NOT NULL').pluck().get()).toBe(1);
      db.exec(`UPDATE inbox SET events = replace(events, 'test', 'text')`);
    });
    const restored = folder.open();
    expect((await restored.describe(damaged)).status).toBe('running');
    expect(restored.load().runsDamaged).toBe(0);
  });
});

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

describe('a run that cannot be saved', () => {
  it('is set apart, and what shared its commit is saved', async () => {
    const clock = new HandClock();
    await engine.close();
    const { log, lines } = logs();
    engine = folder.open({ clock, log });
    worker = new ScriptedWorker(engine);
    const sound = await start('sound');
    const task = await worker.next('turn');
    // A time that the column cannot hold: this run is to blame, whatever the disk does.
    clock.ms += 0.5;
    const refused = start('broken');
    const keyed = engine.start({
      ...{ workflowType: 'flow', catalog: CATALOG, input: [], workflowId: 'keyed' },
      idempotency: { key: 'k', fingerprint: 'f' },
    });
    clock.ms += 0.5;
    const signalled = engine.signal(sound, 'a', []);
    const other = start('other');
    await expect(refused).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await expect(keyed).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await signalled;
    await other;
    worker.completeTurn(task, [timer(1, 60_000)]);
    await engine.ready();
    expect(lines.map(([level]) => level).filter((level) => level !== 'info')).toEqual(['error', 'error']);

    const again = killed().open({ clock });
    expect((await again.list({}, { limit: 10 })).runs.map(({ workflowId }) => workflowId)).toEqual([
      'other',
      'sound',
    ]);
    const next = new ScriptedWorker(again);
    const turn = await next.next('turn');
    expect(turn.events.map((event) => event.type)).toContain('WORKFLOW_EXECUTION_SIGNALED');
  });

  it('does not come back to life when it was saved before', async () => {
    const clock = new HandClock();
    await engine.close();
    engine = folder.open({ clock });
    worker = new ScriptedWorker(engine);
    const run = await start('once');
    // Who waits is told at once.
    const waiting = engine.outcome(run, { waitMs: 600_000 });
    clock.ms += 0.5;
    await worker.turn(timer(1, 60_000.25));
    await expect(waiting).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await expect(engine.signal(run, 'a', [])).rejects.toMatchObject({ name: 'DataCorruptionError' });
    await start('twice').catch(() => {});
    clock.ms += 0.5;
    expect(await start('more')).toBeDefined();
  });
});

describe('a start', () => {
  it('leaves out a catalog that cannot be read, until its workers register it again', async () => {
    await start('one');
    await engine.close();
    edit(folder, (db) => {
      db.exec(`INSERT INTO catalogs (name, workflows) VALUES ('other', '[{"entry":7}]')`);
      db.exec(`UPDATE catalogs SET workflows = '[{' WHERE name = '${CATALOG}'`);
    });
    const { log, lines } = logs();
    const again = folder.open({ log });
    expect(lines.map(([, message]) => message)).toEqual([
      expect.stringContaining(`catalog "${CATALOG}" cannot be read`),
      expect.stringContaining('catalog "other" cannot be read'),
    ]);
    expect(await again.catalog(CATALOG)).toBeUndefined();
    const next = new ScriptedWorker(again);
    expect((await again.catalog(CATALOG))?.workflows).toHaveLength(1);
    await next.turn(complete());
  });

  it.each([-1, 0, 1, 2, 99])('says in words that a schema version of %d does not fit', async (version) => {
    await engine.close();
    edit(folder, (db) => db.pragma(`user_version = ${version}`));
    let error: Error | undefined;
    try {
      folder.open();
    } catch (caught) {
      error = caught as Error;
    }
    expect(error?.name).toBe('DataFolderError');
    expect(error?.message).toMatch(/schema version/);
  });

  it('says in words that tables are missing', async () => {
    await engine.close();
    edit(folder, (db) => db.exec('DROP TABLE steps'));
    expect(() => folder.open()).toThrow(/its tables are others/);
  });
});
