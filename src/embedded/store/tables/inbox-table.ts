/** The table of what arrived for open runs while a turn of theirs was under way. */
import type Database from 'better-sqlite3';
import type { NewEvent } from '../../../core/history/event.js';
import { invariant } from '../../../core/invariant.js';
import { checksumOf } from '../checksum.js';
import type { Inbox, InboxGroup } from '../inbox.js';

export class InboxTable {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      insert: db.prepare('INSERT INTO inbox (run_key, seq, events, checksum) VALUES (?, ?, ?, ?)'),
      deleteBefore: db.prepare('DELETE FROM inbox WHERE run_key = ? AND seq < ?'),
      deleteAll: db.prepare('DELETE FROM inbox WHERE run_key = ?'),
      of: db.prepare('SELECT seq, events, checksum FROM inbox WHERE run_key = ? ORDER BY seq'),
    };
  }

  /** Answers with what was written, by checksums. */
  save(key: number, inbox: Inbox): string {
    if (inbox.isSaved) return '';
    const { groups, deleteBefore } = inbox.unsaved;
    if (deleteBefore !== undefined) this.#sql.deleteBefore.run(key, deleteBefore);
    let written = '';
    for (const { seq, events } of groups) {
      const text = JSON.stringify(events);
      const checksum = checksumOf('inbox', key, seq, text);
      this.#sql.insert.run(key, seq, text, checksum);
      written += checksum;
    }
    return written;
  }

  /** To be called where a run is read: what does not fit is damage of that run. */
  of(key: number): InboxGroup[] {
    const groups: InboxGroup[] = [];
    for (const row of this.#sql.of.iterate(key)) {
      const { seq, events, checksum } = row as { seq: number; events: string; checksum: string | null };
      invariant(
        checksum === null || checksum === checksumOf('inbox', key, seq, events),
        `what arrived as number ${seq} does not fit its checksum`,
      );
      groups.push({ seq, events: JSON.parse(events) as NewEvent[] });
    }
    return groups;
  }

  delete(key: number): void {
    this.#sql.deleteAll.run(key);
  }
}
