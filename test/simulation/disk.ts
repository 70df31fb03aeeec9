/**
 * The disk under the engine: real SQLite files, in memory where the system has such a place, which lose what is not
 * committed when the engine is killed, and commits that fail before or after they were made.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { RunRow } from '../../src/embedded/store/tables/run-row.js';
import { Tables } from '../../src/embedded/store/tables/tables.js';

/** - before: nothing is written. - after: all is written, but the answer says that it failed. - full: no space. */
export type CommitFault = 'before' | 'after' | 'full';

/** Asked before every commit of the engine that is alive. */
let faultOfCommit: (() => CommitFault | undefined) | undefined;

const CODES = { before: 'SQLITE_IOERR_WRITE', after: 'SQLITE_IOERR_FSYNC', full: 'SQLITE_FULL' };

/** The engine commits by `transaction(…).immediate` and nothing else does, so this is where its disk fails. */
function failCommits(): void {
  const { prototype } = Database as unknown as { prototype: Database.Database };
  const original = prototype.transaction;
  prototype.transaction = function (this: Database.Database, action: (...given: unknown[]) => unknown) {
    const made = original.call(this, action);
    const { default: plain, deferred, immediate, exclusive } = made;
    const faulty = (...given: unknown[]) => {
      const fault = faultOfCommit?.();
      const failed = () => Object.assign(new Error(`disk I/O error (${fault})`), { code: CODES[fault!] });
      if (fault === 'before' || fault === 'full') throw failed();
      const written = immediate(...given);
      if (fault === 'after') throw failed();
      return written;
    };
    const given = (...values: unknown[]) => made(...values);
    return Object.assign(given, { default: plain, deferred, immediate: faulty, exclusive });
  } as typeof prototype.transaction;
}

let isInstalled = false;

export class Disk {
  readonly #root: string;
  #lives = 0;
  path: string;

  constructor(faults: () => CommitFault | undefined) {
    if (!isInstalled) failCommits();
    isInstalled = true;
    faultOfCommit = faults;
    this.#root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'perdure-simulation-'));
    this.path = this.#next();
  }

  #next(): string {
    const path = join(this.#root, String(this.#lives++));
    mkdirSync(path);
    return path;
  }

  /** What a kill at this moment leaves is what the next engine finds. */
  kill(): void {
    const before = this.path;
    this.path = this.#next();
    for (const file of readdirSync(before)) {
      // The index of the log is in the memory of the process that was killed.
      if (!file.endsWith('-shm')) copyFileSync(join(before, file), join(this.path, file));
    }
  }

  /** Of an earlier life, whose engine has let go of it. */
  forget(path: string): void {
    if (path !== this.path) rmSync(path, { recursive: true, force: true });
  }

  /** Looks at what is on it while no engine has it. */
  look(at: (tables: Tables, rows: RunRow[], commits: number) => void): void {
    const db = new Database(join(this.path, 'perdure.db'), { readonly: true });
    try {
      const rows = db.prepare('SELECT * FROM runs ORDER BY key').all() as RunRow[];
      at(new Tables(db), rows, db.prepare('SELECT seq FROM tip').pluck().get() as number);
    } finally {
      db.close();
    }
  }

  remove(): void {
    faultOfCommit = undefined;
    rmSync(this.#root, { recursive: true, force: true });
  }
}
