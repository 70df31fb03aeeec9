/** The table of purses. */
import type Database from 'better-sqlite3';
import { rowChecksum } from '../checksum.js';
import { DamagedRowError, damagedAmong, reading } from '../damage.js';

/** What a tree of runs may spend and has spent: decimal texts. */
export interface PurseRow {
  tree: string;
  currency: string;
  amount: string;
  spent: string;
}

type Stored = PurseRow & { checksum: number | null };

export class PurseTable {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      save: db.prepare(
        'INSERT OR REPLACE INTO purses (tree, currency, amount, spent, checksum) VALUES (@tree, @currency, @amount, @spent, @checksum)',
      ),
      of: db.prepare('SELECT * FROM purses WHERE tree = ?'),
      all: db.prepare('SELECT * FROM purses'),
      deleteUnused: db.prepare(
        `DELETE FROM purses WHERE tree = @tree AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = @tree)
         AND NOT EXISTS (SELECT 1 FROM runs WHERE tree = @tree)`,
      ),
    };
  }

  save(purse: PurseRow): void {
    this.#sql.save.run({ ...purse, checksum: checksumOf(purse) });
  }

  /** @throws DamagedRowError */
  of(tree: string): PurseRow | undefined {
    const row = reading(() => this.#sql.of.get(tree) as Stored | undefined);
    return row && sound(row);
  }

  problems(): Iterable<string> {
    return damagedAmong(this.#sql.all.iterate() as Iterable<Stored>, sound);
  }

  /** A run of the tree was removed; the purse goes with the last. */
  deleteUnused(tree: string): void {
    this.#sql.deleteUnused.run({ tree });
  }
}

const checksumOf = ({ tree, currency, amount, spent }: PurseRow) =>
  rowChecksum('purses', tree, currency, amount, spent);

function sound({ checksum, ...purse }: Stored): PurseRow {
  if (checksum === checksumOf(purse)) return purse;
  throw new DamagedRowError(`the budget of run ${purse.tree} does not fit its checksum`);
}
