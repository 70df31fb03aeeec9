/** The table of closed runs of whose children some are still to end with them. */
import type Database from 'better-sqlite3';
import { rowChecksum } from '../checksum.js';
import { DamagedRowError, damagedAmong, reading } from '../damage.js';

interface ClosingRow {
  run_key: number;
  checksum: number;
}

export class ClosingTable {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      mark: db.prepare('INSERT INTO closings (run_key, checksum) VALUES (?, ?)'),
      unmark: db.prepare('DELETE FROM closings WHERE run_key = ?'),
      has: db.prepare('SELECT 1 FROM closings WHERE run_key = ?'),
      all: db.prepare('SELECT run_key, checksum FROM closings ORDER BY run_key'),
    };
  }

  mark(key: number): void {
    this.#sql.mark.run(key, checksumOf(key));
  }

  unmark(key: number): void {
    this.#sql.unmark.run(key);
  }

  has(key: number): boolean {
    return reading(() => this.#sql.has.get(key)) !== undefined;
  }

  /** Of the runs whose row is sound. */
  keys(): number[] {
    return this.#all()
      .filter((row) => row.checksum === checksumOf(row.run_key))
      .map((row) => row.run_key);
  }

  problems(): Iterable<string> {
    return damagedAmong(this.#all(), requireSound);
  }

  #all(): ClosingRow[] {
    return reading(() => this.#sql.all.all() as ClosingRow[]);
  }
}

const checksumOf = (key: number): number => rowChecksum('closings', key);

function requireSound({ run_key: key, checksum }: ClosingRow): void {
  if (checksum === checksumOf(key)) return;
  throw new DamagedRowError(`that children of run number ${key} are still to end does not fit its checksum`);
}
