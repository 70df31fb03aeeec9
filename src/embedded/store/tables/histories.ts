/** The table of histories: events in pieces, one row for what a commit adds to a run, each with its checksum. */
import type Database from 'better-sqlite3';
import type { HistoryEvent } from '../../../core/history/event.js';
import { invariant } from '../../../core/invariant.js';
import { decodeEvents, encodeEvents } from '../../state/stored-events.js';
import { checksumOf, encodeWithChecksum } from '../checksum.js';
import { DamagedRunError, readingRun } from '../damage.js';

interface PieceRow {
  last_event_id: number;
  events: string;
  checksum: string | null;
}

export class Histories {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      insert: db.prepare(
        'INSERT INTO history (run_key, last_event_id, events, checksum) VALUES (?, ?, CAST(? AS TEXT), ?)',
      ),
      length: db
        .prepare('SELECT last_event_id FROM history WHERE run_key = ? ORDER BY last_event_id DESC LIMIT 1')
        .pluck(),
      after: db.prepare(
        'SELECT last_event_id, events, checksum FROM history WHERE run_key = ? AND last_event_id > ? ORDER BY last_event_id',
      ),
      lastPiece: db.prepare(
        'SELECT last_event_id, events, checksum FROM history WHERE run_key = ? ORDER BY last_event_id DESC LIMIT 1',
      ),
      // The texts are looked through by SQLite, so that a long history without costs is not taken apart for them.
      withCosts: db.prepare(
        `SELECT last_event_id, events, checksum FROM history WHERE run_key = ? AND last_event_id > ?
         AND (instr(events, '"costs":[') > 0 OR instr(events, '"RESET_WORKFLOW"') > 0) ORDER BY last_event_id LIMIT ?`,
      ),
      ofReset: db.prepare(
        `SELECT last_event_id, events, checksum FROM history WHERE run_key = ?
         AND instr(events, '"RESET_WORKFLOW"') > 0 AND instr(events, ?) > 0 ORDER BY last_event_id LIMIT 1`,
      ),
      delete: db.prepare('DELETE FROM history WHERE run_key = ?'),
    };
  }

  /** How many bytes the events take, and the checksums of what was written, which are over its places as well. */
  append(key: number, events: readonly HistoryEvent[]): { bytes: number; written: string } {
    let bytes = 0;
    let written = '';
    for (const { lastEventId, text } of encodeEvents(events)) {
      const { stored, checksum } = encodeWithChecksum('history', key, lastEventId, text);
      bytes += stored.length;
      this.#sql.insert.run(key, lastEventId, stored, checksum);
      written += checksum;
    }
    return { bytes, written };
  }

  delete(key: number): void {
    this.#sql.delete.run(key);
  }

  /** @throws DamagedRunError, as do all that read what is stored of one run */
  length(key: number): number {
    return readingRun(key, () => (this.#sql.length.get(key) as number | undefined) ?? 0);
  }

  /** Up to `limit` events; no further piece of the history is read once `maxBytes` have been. */
  read(
    key: number,
    afterEventId: number,
    limit = Number.POSITIVE_INFINITY,
    maxBytes = Number.POSITIVE_INFINITY,
  ): HistoryEvent[] {
    return readingRun(key, () => {
      const events: HistoryEvent[] = [];
      let bytes = 0;
      for (const piece of this.pieces(key, afterEventId)) {
        bytes += piece.bytes;
        for (const event of piece.events) {
          if (event.id <= afterEventId) continue;
          if (events.length >= limit) return events;
          events.push(event);
        }
        if (events.length >= limit || (bytes >= maxBytes && events.length > 0)) return events;
      }
      return events;
    });
  }

  /** Pieces of the history that reach beyond the event, each as it was written and none missing between them. */
  *pieces(key: number, afterEventId: number): Generator<{ events: HistoryEvent[]; bytes: number }> {
    let next = afterEventId + 1;
    for (const row of this.#sql.after.iterate(key, afterEventId)) {
      const events = eventsOf(key, row as PieceRow);
      const first = events[0]?.id ?? Number.NaN;
      const isNext = first === next || (next === afterEventId + 1 && first < next);
      invariant(isNext && first > 0, `the events from ${next} on are not where they should be`);
      next = (row as PieceRow).last_event_id + 1;
      yield { events, bytes: Buffer.byteLength((row as PieceRow).events) };
    }
  }

  first(key: number): HistoryEvent {
    const [first] = this.read(key, 0, 1);
    if (!first) throw new DamagedRunError(key, 'it has no history');
    return first;
  }

  last(key: number): HistoryEvent {
    return readingRun(key, () => {
      const row = this.#sql.lastPiece.get(key) as PieceRow | undefined;
      invariant(row, 'it has no history');
      return eventsOf(key, row).at(-1)!;
    });
  }

  /** Up to `limit` pieces, after an event, that say what was spent or that the run was reset. */
  withCosts(key: number, afterEventId: number, limit: number): HistoryEvent[][] {
    return readingRun(key, () => {
      const pieces = this.#sql.withCosts.all(key, afterEventId, limit) as PieceRow[];
      return pieces.map((piece) => eventsOf(key, piece));
    });
  }

  /** The run that a reset has made this one of. */
  baseOf(key: number, runId: string): string | undefined {
    return readingRun(key, () => {
      const piece = this.#sql.ofReset.get(key, runId) as PieceRow | undefined;
      for (const { type, attributes } of piece ? eventsOf(key, piece) : []) {
        // What it took over may have been made by resets itself.
        if (type === 'WORKFLOW_TASK_FAILED' && attributes.newRunId === runId) return attributes.baseRunId;
      }
      return undefined;
    });
  }
}

function eventsOf(
  key: number,
  { last_event_id: lastEventId, events: text, checksum }: PieceRow,
): HistoryEvent[] {
  invariant(
    checksum === null || checksum === checksumOf('history', key, lastEventId, text),
    `the events up to ${lastEventId} do not fit their checksum`,
  );
  return decodeEvents({ lastEventId, text });
}
