/** The table of what others have still to hear of: events of runs, by the run and their numbers. */
import type Database from 'better-sqlite3';
import { rowChecksum } from '../checksum.js';
import { DamagedRowError, damagedAmong, reading } from '../damage.js';

interface Row {
  run_key: number;
  event_id: number;
  checksum: number;
}

export class OutboxTable {
  readonly #sql;

  constructor(
    db: Database.Database,
    private readonly onUnreadable: (problem: string) => void,
  ) {
    this.#sql = {
      insert: db.prepare('INSERT INTO outbox (run_key, event_id, checksum) VALUES (?, ?, ?)'),
      delete: db.prepare('DELETE FROM outbox WHERE run_key = ? AND event_id = ?'),
      all: db.prepare('SELECT * FROM outbox ORDER BY run_key, event_id'),
    };
  }

  insert(runKey: number, eventId: number): void {
    this.#sql.insert.run(runKey, eventId, checksumOf(runKey, eventId));
  }

  delete(runKey: number, eventId: number): void {
    this.#sql.delete.run(runKey, eventId);
  }

  /** The numbers of the events, by the keys of their runs. */
  all(): Map<number, number[]> {
    const found = new Map<number, number[]>();
    for (const problem of this.problems()) this.onUnreadable(problem);
    for (const { run_key: key, event_id: id } of this.#rows().filter(isSound)) {
      const events = found.get(key);
      if (events) events.push(id);
      else found.set(key, [id]);
    }
    return found;
  }

  problems(): Iterable<string> {
    return damagedAmong(this.#rows(), requireSound);
  }

  #rows(): Row[] {
    return reading(() => this.#sql.all.all() as Row[]);
  }
}

const checksumOf = (runKey: number, eventId: number): number => rowChecksum('outbox', runKey, eventId);

const isSound = ({ run_key: key, event_id: id, checksum }: Row): boolean => checksum === checksumOf(key, id);

function requireSound(row: Row): void {
  if (isSound(row)) return;
  const { run_key: key, event_id: id } = row;
  throw new DamagedRowError(
    `that others have still to hear of event ${id} of run number ${key} does not fit its checksum`,
  );
}
