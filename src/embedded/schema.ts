/**
 * The tables. History is the truth; the others are projections and delivery state.
 *
 * A migration is never edited after a release: a change is a new one at the end.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- One row a run. "key" counts up in the order of starts, so it is also the order of the run list.
  CREATE TABLE runs (
    key            INTEGER PRIMARY KEY,
    run_id         TEXT NOT NULL,
    workflow_id    TEXT NOT NULL,
    workflow_type  TEXT NOT NULL,
    catalog        TEXT NOT NULL,
    status         TEXT NOT NULL,
    started_at     INTEGER NOT NULL,
    closed_at      INTEGER,
    first_run_id   TEXT NOT NULL,
    format         TEXT,
    -- 1 while a turn or a step of it is queued or with a worker: what a restart has to take up.
    is_active      INTEGER NOT NULL,
    -- Not later than the next instant at which something happens to the run by itself; it may be earlier.
    wake_at        INTEGER,
    -- JSON: why its last turn failed, how often, and when it is tried again.
    held_back      TEXT,
    -- JSON of TraceInfo: where the trace was saved.
    trace          TEXT
  ) STRICT;
  CREATE UNIQUE INDEX runs_by_run_id ON runs (run_id);
  CREATE INDEX runs_by_workflow_id ON runs (workflow_id, key);
  CREATE INDEX runs_by_type ON runs (workflow_type, key);
  CREATE INDEX runs_by_status ON runs (status, key) WHERE status <> 'completed';
  CREATE INDEX runs_by_wake_at ON runs (wake_at) WHERE wake_at IS NOT NULL;
  CREATE INDEX runs_active ON runs (key) WHERE is_active = 1;
  CREATE INDEX runs_by_closed_at ON runs (closed_at) WHERE closed_at IS NOT NULL;
  CREATE INDEX runs_held_back ON runs (catalog) WHERE held_back IS NOT NULL;

  -- Events in the pieces in which they were committed: a JSON array (stored-events.ts) whose last event has the number
  -- last_event_id.
  -- Rows are appended in the order of commits, so that a commit of many runs writes few pages; the index finds them.
  CREATE TABLE history (
    run_key       INTEGER NOT NULL,
    last_event_id INTEGER NOT NULL,
    events        TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX history_by_run ON history (run_key, last_event_id);

  -- Events that arrived while a turn was under way; they get their numbers when it has ended.
  CREATE TABLE inbox (
    run_key INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    events  TEXT NOT NULL,
    PRIMARY KEY (run_key, seq)
  ) STRICT, WITHOUT ROWID;

 -- How far the delivery of a pending step has come (JSON of Delivery), once that is more than its scheduled event says.
  CREATE TABLE steps (
    run_key            INTEGER NOT NULL,
    scheduled_event_id INTEGER NOT NULL,
    delivery           TEXT NOT NULL,
    PRIMARY KEY (run_key, scheduled_event_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE idempotency (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    run_key     INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_run ON idempotency (run_key);

  CREATE TABLE catalogs (
    name      TEXT PRIMARY KEY,
    workflows TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // Pieces of history in a shorter form; those that are there stay as they are. Older programs must not take the file.
  `SELECT 1`,
];
