/** A start with catalogs that cannot be read, and with tables that are not those of this version. */
import { describe, expect, it } from 'vitest';
import { CATALOG, complete, ScriptedWorker } from '../../scripted-worker.fixture.js';
import { edit, engine, folder, logs, start } from './damaged-folder.fixture.js';

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
