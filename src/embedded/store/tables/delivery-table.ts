/** The table of how far the pending steps of open runs have come: what no history tells before they have ended. */
import type Database from 'better-sqlite3';
import { invariant } from '../../../core/invariant.js';
import type { Delivery } from '../../state/run-state.js';
import type { ActiveRun } from '../active-run.js';
import { rowChecksum } from '../checksum.js';

interface StepRow {
  scheduled_event_id: number;
  delivery: string;
  checksum: number | null;
}

export class DeliveryTable {
  readonly #sql;

  constructor(db: Database.Database) {
    this.#sql = {
      upsert: db.prepare(
        'INSERT OR REPLACE INTO steps (run_key, scheduled_event_id, delivery, checksum) VALUES (?, ?, ?, ?)',
      ),
      delete: db.prepare('DELETE FROM steps WHERE run_key = ? AND scheduled_event_id = ?'),
      deleteAll: db.prepare('DELETE FROM steps WHERE run_key = ?'),
      of: db.prepare('SELECT scheduled_event_id, delivery, checksum FROM steps WHERE run_key = ?'),
    };
  }

  save(run: ActiveRun): void {
    if (run.isClosed) {
      if (run.savedSteps.size > 0) this.delete(run.key);
      return;
    }
    for (const id of run.changedSteps) {
      const step = run.state.steps.get(id);
      if (step) {
        const delivery = JSON.stringify(step.delivery);
        this.#sql.upsert.run(run.key, id, delivery, rowChecksum('steps', run.key, id, delivery));
      } else if (run.savedSteps.has(id)) this.#sql.delete.run(run.key, id);
    }
  }

  /** To be called where a run is read: what does not fit is damage of that run. */
  of(key: number): { id: number; delivery: Delivery }[] {
    return (this.#sql.of.all(key) as StepRow[]).map(
      ({ scheduled_event_id: id, delivery: text, checksum }) => {
        invariant(
          checksum === rowChecksum('steps', key, id, text),
          `the delivery of step ${id} does not fit its checksum`,
        );
        return { id, delivery: JSON.parse(text) as Delivery };
      },
    );
  }

  delete(key: number): void {
    this.#sql.deleteAll.run(key);
  }
}
