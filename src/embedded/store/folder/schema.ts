/**
 * The tables. History is the truth; the others are projections and delivery state.
 *
 * A migration is never edited after a release: a change is a new one at the end. They may use `row_checksum` (checksum.ts).
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
  `
  -- Later runs of a chain by its first, which is kept for as long as there are any.
  CREATE INDEX runs_by_first_run ON runs (first_run_id) WHERE first_run_id <> run_id;
  -- For runs that have a parent: the first run of the workflow at the root of their tree.
  ALTER TABLE runs ADD COLUMN tree TEXT;
  CREATE INDEX runs_open_by_tree ON runs (tree) WHERE tree IS NOT NULL AND closed_at IS NULL;

  -- Of the row's text at its place (checksum.ts); pieces from before have none.
  ALTER TABLE history ADD COLUMN checksum TEXT;
  ALTER TABLE inbox ADD COLUMN checksum TEXT;

  -- The last commit: its number, its hash over the one before and what it wrote, and when it was made.
  CREATE TABLE tip (
    seq  INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at   INTEGER NOT NULL
  ) STRICT;
  INSERT INTO tip VALUES (0, '', 0);

  -- Why the run is set apart: what is stored of it is damaged. It is tried again at every start.
  ALTER TABLE runs ADD COLUMN damaged TEXT;
  CREATE INDEX runs_damaged ON runs (key) WHERE damaged IS NOT NULL;
  DROP INDEX runs_by_wake_at;
  DROP INDEX runs_active;
  CREATE INDEX runs_by_wake_at ON runs (wake_at) WHERE wake_at IS NOT NULL AND damaged IS NULL;
  CREATE INDEX runs_active ON runs (key) WHERE is_active = 1 AND damaged IS NULL;

  -- What waits in an inbox is a reason to take the run up after a start; it was not always one.
  UPDATE runs SET is_active = 1 WHERE closed_at IS NULL AND key IN (SELECT run_key FROM inbox);
  `,
  `
  -- The version of the code that made the run's last turn, as one text.
  ALTER TABLE runs ADD COLUMN version TEXT;
  -- JSON: the versions of code that have registered the catalog, and when each did so first.
  ALTER TABLE catalogs ADD COLUMN versions TEXT;
  -- What the service signs with, by its purpose.
  CREATE TABLE secrets (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- JSON of Paused, while the run is; follows from its history and its inbox.
  ALTER TABLE runs ADD COLUMN paused TEXT;
  CREATE INDEX runs_paused ON runs (key) WHERE paused IS NOT NULL;
  `,
  `
  -- What a tree of runs may spend and has spent, by the first run of the workflow at its root. Not a projection: retention
  -- removes runs of a chain that goes on, and what they have spent stays spent.
  CREATE TABLE purses (
    tree     TEXT PRIMARY KEY,
    currency TEXT NOT NULL,
    amount   TEXT NOT NULL,
    spent    TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  -- All descendants of a workflow, for what they have spent together.
  CREATE INDEX runs_by_tree ON runs (tree, key) WHERE tree IS NOT NULL;
  `,
  `
  -- Of the row's values (checksum.ts). What a run's has not: its trace, which is written by itself and has its own; and
  -- is_active and damaged, which only say what a start takes up.
  ALTER TABLE runs ADD COLUMN checksum INTEGER;
  ALTER TABLE runs ADD COLUMN trace_checksum INTEGER;
  ALTER TABLE steps ADD COLUMN checksum INTEGER;
  ALTER TABLE idempotency ADD COLUMN checksum INTEGER;
  ALTER TABLE catalogs ADD COLUMN checksum INTEGER;
  ALTER TABLE secrets ADD COLUMN checksum INTEGER;
  ALTER TABLE purses ADD COLUMN checksum INTEGER;
  ALTER TABLE tip ADD COLUMN checksum INTEGER;
  UPDATE runs SET
    checksum = row_checksum('runs', key, run_id, workflow_id, workflow_type, catalog, status, started_at, closed_at,
      first_run_id, format, wake_at, held_back, version, paused, tree),
    trace_checksum = iif(trace IS NULL, NULL, row_checksum('runs.trace', key, trace));
  UPDATE steps SET checksum = row_checksum('steps', run_key, scheduled_event_id, delivery);
  UPDATE idempotency SET checksum = row_checksum('idempotency', key, fingerprint, run_key);
  UPDATE catalogs SET checksum = row_checksum('catalogs', name, workflows, versions);
  UPDATE secrets SET checksum = row_checksum('secrets', name, value);
  UPDATE purses SET checksum = row_checksum('purses', tree, currency, amount, spent);
  UPDATE tip SET checksum = row_checksum('tip', seq, hash, at);
  -- Closed runs of whose children some are still to end with them: what a restart has to go on with.
  CREATE TABLE closings (
    run_key  INTEGER PRIMARY KEY,
    checksum INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- Events of runs that others have still to hear of, or to end by: what a restart has to go on with.
  CREATE TABLE outbox (
    run_key  INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (run_key, event_id)
  ) STRICT, WITHOUT ROWID;
  `,
  // Pieces of history in a still shorter form, for which the same holds.
  `SELECT 1`,
];
