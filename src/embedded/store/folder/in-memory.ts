/**
 * A database in the memory of this process, in place of a data folder: for tests of workflows, which are to leave nothing
 * behind. It is gone with the engine, unless somebody keeps an image of it.
 */
import Database from 'better-sqlite3';
import { CommitChain } from './commit-chain.js';
import type { DataFolder } from './data-folder.js';
import { explainOpening, migrate, requireSqliteVersion } from './database.js';
import type { InMemory } from './memory-place.js';

export function openInMemory(place: InMemory): DataFolder {
  const db = new Database(place.image ?? ':memory:');
  try {
    requireSqliteVersion(db);
    migrate(db, String(place));
    // Without a mark: there is no file beside it that could know of commits which it lacks.
    return { db, chain: new CommitChain(db), mark: undefined };
  } catch (error) {
    db.close();
    throw explainOpening(error, String(place));
  }
}
