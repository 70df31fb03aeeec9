/**
 * The chain of commits: each has a number and a hash over the one before and what it wrote. Its tip is in the database,
 * written by the commit itself, and in the mark beside it, so that commits which are gone are missed at the next start.
 */
import type Database from 'better-sqlite3';
import { digest, rowChecksum } from '../checksum.js';
import { DataFolderError } from './data-folder-error.js';

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
    this.#save = db.prepare('UPDATE tip SET seq = ?, hash = ?, at = ?, checksum = ?');
    this.#tip = storedTip(db);
  }

  get tip(): Tip {
    return this.#tip;
  }

  /** Inside the transaction: the tip that holds when it has been committed. `written` stands for what it wrote. */
  save(written: string, at: number): Tip {
    const seq = this.#tip.seq + 1;
    const tip = { seq, hash: digest(`${seq}/${this.#tip.hash}/${written}`), at: Math.floor(at) };
    this.#save.run(tip.seq, tip.hash, tip.at, checksumOfTip(tip));
    return tip;
  }

  committed(tip: Tip): void {
    this.#tip = tip;
  }
}

const checksumOfTip = ({ seq, hash, at }: Tip) => rowChecksum('tip', seq, hash, at);

/** The tip of a database of any schema version. @throws DataFolderError */
export function storedTip(db: Database.Database): Tip {
  const hasTip = db.prepare(`SELECT count(*) FROM sqlite_schema WHERE name = 'tip'`).pluck().get() === 1;
  if (!hasTip) return NO_COMMITS;
  const row = db.prepare('SELECT * FROM tip').get() as (Tip & { checksum?: number | null }) | undefined;
  if (!row) return NO_COMMITS;
  const { checksum, ...tip } = row;
  // Schema versions before had none.
  if (checksum !== undefined && checksum !== checksumOfTip(tip)) {
    throw new DataFolderError(
      `${db.name} is damaged: what it says of its last commit does not fit its checksum. Restore a backup`,
    );
  }
  return tip;
}
