/** The table of purses. */
import type Database from 'better-sqlite3';
import { reading } from '../damage.js';

/** What a tree of runs may spend and has spent: decimal texts. */
export interface PurseRow {
  tree: string;
  currency: string;
  amount: string;
  spent: string;
}

export class PurseTable {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      save: db.prepare(
        'INSERT OR REPLACE INTO purses (tree, currency, amount, spent) VALUES (@tree, @currency, @amount, @spent)',
      ),
      of: db.prepare('SELECT * FROM purses WHERE tree = ?'),
      deleteUnused: db.prepare(
        `DELETE FROM purses WHERE tree = @tree AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = @tree)
         AND NOT EXISTS (SELECT 1 FROM runs WHERE tree = @tree)`,
      ),
    };
  }

  save(purse: PurseRow): void {
    this.#sql.save.run(purse);
  }

  of(tree: string): PurseRow | undefined {
    return reading(() => this.#sql.of.get(tree) as PurseRow | undefined);
  }

  /** A run of the tree was removed; the purse goes with the last. */
  deleteUnused(tree: string): void {
    this.#sql.deleteUnused.run({ tree });
  }
}
