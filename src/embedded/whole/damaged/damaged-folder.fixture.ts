/** An engine for each test on a folder that the test damages, copies of it as a kill leaves them, and its files. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach } from 'vitest';
import type { RunRef } from '../../../engine.js';
import type { EmbeddedEngine, EmbeddedEngineOptions } from '../../index.js';
import { CATALOG, Folder, ScriptedWorker } from '../../scripted-worker.fixture.js';

export let folder: Folder;
export let engine: EmbeddedEngine;
export let worker: ScriptedWorker;
/** Removed after the test. */
export const copies: Folder[] = [];

beforeEach(() => {
  folder = new Folder(true);
  engine = folder.open();
  worker = new ScriptedWorker(engine);
});
afterEach(async () => {
  for (const copy of copies.splice(0)) await copy.remove();
  await folder.remove();
});

/** Closes the engine of the test and opens another on its folder. */
export async function reopen(options: Partial<EmbeddedEngineOptions> = {}): Promise<void> {
  await engine.close();
  engine = folder.open(options);
}

/** A copy of the folder as a kill would leave it now, which is removed after the test. */
export function killed(): Folder {
  const copy = folder.asKilled();
  copies.push(copy);
  return copy;
}

export const start = (workflowId?: string, on = engine): Promise<RunRef> =>
  on.start({ workflowType: 'flow', catalog: CATALOG, input: ['1'], workflowId });

/** Keeps what was logged. */
export function logs() {
  const lines: [level: string, message: string, fields: Record<string, unknown>][] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push([level, message, fields as Record<string, unknown>]);
  return { lines, log: { debug() {}, info: at('info'), warn: at('warn'), error: at('error') } };
}

export const edit = (at: Folder, change: (db: Database.Database) => void) => {
  const db = new Database(join(at.path, 'perdure.db'));
  change(db);
  db.close();
};

export const dbFile = (at: Folder) => join(at.path, 'perdure.db');
export const walFile = (at: Folder) => join(at.path, 'perdure.db-wal');
export const markFile = (at: Folder) => join(at.path, 'perdure.mark');
