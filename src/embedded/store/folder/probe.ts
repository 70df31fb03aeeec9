/** How a database of the engine would fare in a folder: opened as the engine opens its own, and written to in earnest. */
import { explainOpening, openDatabase } from './database.js';

export interface StorageProbe {
  sqliteVersion: string;
  /** As SQLite says it is in force; 2 is FULL. */
  synchronous: number;
  commits: number;
  medianMs: number;
  slowestMs: number;
}

const COMMITS = 40;
/** A disk that takes longer has shown what it can do. */
const MAX_MS = 2_000;
/** About what a turn of a small run saves. */
const ROW_BYTES = 2_048;

/** Leaves its files behind: the folder is the caller's. @throws DataFolderError */
export function probeStorage(folder: string): StorageProbe {
  const db = openDatabase(folder);
  try {
    db.exec('CREATE TABLE probe (id INTEGER PRIMARY KEY, content BLOB NOT NULL)');
    const insert = db.prepare('INSERT INTO probe (content) VALUES (?)');
    const row = Buffer.alloc(ROW_BYTES, 'p');
    const durations: number[] = [];
    const begun = performance.now();
    while (durations.length < COMMITS && performance.now() - begun < MAX_MS) {
      const at = performance.now();
      insert.run(row);
      durations.push(performance.now() - at);
    }
    durations.sort((a, b) => a - b);
    return {
      sqliteVersion: db.prepare('SELECT sqlite_version()').pluck().get() as string,
      synchronous: db.pragma('synchronous', { simple: true }) as number,
      commits: durations.length,
      medianMs: durations[Math.floor(durations.length / 2)]!,
      slowestMs: durations.at(-1)!,
    };
  } catch (error) {
    throw explainOpening(error, folder);
  } finally {
    db.close();
  }
}
