/**
 * The chain of commits: each has a number and a hash over the one before and what it wrote. Its tip is in the database,
 * written by the commit itself, and in the mark beside it, so that commits which are gone are missed at the next start.
 */
import type Database from 'better-sqlite3';
import { digest } from '../checksum.js';

export interface Tip {
  seq: number;
  hash: string;
  /** When it was committed, by a clock that does not follow a jump at once (`SettledTime`). */
  at: number;
}

export const NO_COMMITS: Tip = { seq: 0, hash: '', at: 0 };

export class CommitChain {
  readonly #save;
  #tip: Tip;

  constructor(db: Database.Database) {
    this.#save = db.prepare('UPDATE tip SET seq = ?, hash = ?, at = ?');
    this.#tip = storedTip(db);
  }

  get tip(): Tip {
    return this.#tip;
  }

  /** Inside the transaction: the tip that holds when it has been committed. `written` stands for what it wrote. */
  save(written: string, at: number): Tip {
    const seq = this.#tip.seq + 1;
    const tip = { seq, hash: digest(`${seq}/${this.#tip.hash}/${written}`), at: Math.floor(at) };
    this.#save.run(tip.seq, tip.hash, tip.at);
    return tip;
  }

  committed(tip: Tip): void {
    this.#tip = tip;
  }
}

/** The tip of a database of any schema version. */
export function storedTip(db: Database.Database): Tip {
  const hasTip = db.prepare(`SELECT count(*) FROM sqlite_schema WHERE name = 'tip'`).pluck().get() === 1;
  if (!hasTip) return NO_COMMITS;
  return (db.prepare('SELECT seq, hash, at FROM tip').get() as Tip | undefined) ?? NO_COMMITS;
}
