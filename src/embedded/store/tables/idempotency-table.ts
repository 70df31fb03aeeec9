/** The table of idempotency keys, each with the run that was started with it. */
import type Database from 'better-sqlite3';
import { rowChecksum } from '../checksum.js';
import { DamagedRowError, damagedAmong, reading } from '../damage.js';

interface IdempotencyRow {
  key: string;
  fingerprint: string;
  run_key: number;
  checksum: number | null;
}

export class IdempotencyTable {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      insert: db.prepare('INSERT INTO idempotency (key, fingerprint, run_key, checksum) VALUES (?, ?, ?, ?)'),
      of: db.prepare('SELECT * FROM idempotency WHERE key = ?'),
      all: db.prepare('SELECT * FROM idempotency'),
      delete: db.prepare('DELETE FROM idempotency WHERE run_key = ?'),
    };
  }

  save(key: string, fingerprint: string, runKey: number): void {
    this.#sql.insert.run(key, fingerprint, runKey, checksumOf(key, fingerprint, runKey));
  }

  /** @throws DamagedRowError */
  of(key: string): { fingerprint: string; runKey: number } | undefined {
    const row = reading(() => this.#sql.of.get(key) as IdempotencyRow | undefined);
    if (!row) return undefined;
    requireSound(row);
    return { fingerprint: row.fingerprint, runKey: row.run_key };
  }

  /** The run is removed. */
  delete(runKey: number): void {
    this.#sql.delete.run(runKey);
  }

  problems(): Iterable<string> {
    return damagedAmong(this.#sql.all.iterate() as Iterable<IdempotencyRow>, requireSound);
  }
}

const checksumOf = (key: string, fingerprint: string, runKey: number): number =>
  rowChecksum('idempotency', key, fingerprint, runKey);

function requireSound({ key, fingerprint, run_key: runKey, checksum }: IdempotencyRow): void {
  if (checksum === checksumOf(key, fingerprint, runKey)) return;
  throw new DamagedRowError(`the idempotency key "${key}" does not fit its checksum`);
}
