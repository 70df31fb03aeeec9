/** Whose data folder an engine opens, and the copy that it makes of its own. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { EmbeddedEngine } from '../../index.js';
import { complete, Folder, ScriptedWorker, step } from '../../scripted-worker.fixture.js';
import { closed, folder, start } from '../../started-run.fixture.js';
import { MIGRATIONS } from '../../store/folder/schema.js';

describe('the data folder', () => {
  it('belongs to one process: a second opening is refused', () => {
    folder.open();
    expect(() => EmbeddedEngine.open({ dataDir: folder.path })).toThrow(/in use by another perdure process/);
  });

  it('of a newer program is refused by an older one', async () => {
    const newer = new Folder(true);
    await newer.open().close();
    const db = new Database(join(newer.path, 'perdure.db'));
    db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    expect(() => newer.open()).toThrow(/made by a newer perdure/);
    await newer.remove();
  });

  it('with another program’s database is left alone', () => {
    const db = new Database(join(folder.path, 'perdure.db'));
    db.exec('CREATE TABLE theirs (x)');
    db.close();
    expect(() => folder.open()).toThrow(/another program/);
  });

  it('can be backed up while the engine works, and the copy goes on where it was', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await engine.history(run, { afterEventId: 6, limit: 1, waitMs: 5_000 });
    const copy = new Folder();
    await engine.backupTo(join(copy.path, 'perdure.db'));
    expect(existsSync(join(copy.path, 'perdure.db'))).toBe(true);
    const restored = copy.open();
    const other = new ScriptedWorker(restored);
    await other.turn(complete('"restored"'));
    expect(await closed(restored, run)).toMatchObject({ output: '"restored"' });
    await copy.remove();
  });
});
