/** The row of a run: its columns, and the checksum over them. */
import type { ResultFormat, RunStatus } from '../../../core/run/run.js';
import { versionText } from '../../../core/run/version.js';
import type { RunRef } from '../../../engine.js';
import { treeOf } from '../../state/run-state.js';
import type { ActiveRun } from '../active-run.js';
import { rowChecksum } from '../checksum.js';
import { DamagedRunError } from '../damage.js';

export interface RunRow {
  key: number;
  run_id: string;
  workflow_id: string;
  workflow_type: string;
  catalog: string;
  status: RunStatus;
  started_at: number;
  closed_at: number | null;
  first_run_id: string;
  format: ResultFormat | null;
  is_active: 0 | 1;
  wake_at: number | null;
  held_back: string | null;
  version: string | null;
  paused: string | null;
  trace: string | null;
  damaged: string | null;
  checksum: number | null;
  trace_checksum: number | null;
  /** For runs that have a parent. */
  tree: string | null;
}

/** What the checksum is over, in this order. The trace is written by itself and has its own. */
const CHECKED = [
  'key',
  'run_id',
  'workflow_id',
  'workflow_type',
  'catalog',
  'status',
  'started_at',
  'closed_at',
  'first_run_id',
  'format',
  'wake_at',
  'held_back',
  'version',
  'paused',
  'tree',
] as const satisfies readonly (keyof RunRow)[];

/** Columns that a commit may change; the others stay as they were when the run was started. */
const CHANGING = [
  'status',
  'closed_at',
  'format',
  'is_active',
  'wake_at',
  'held_back',
  'version',
  'paused',
  'checksum',
] as const satisfies readonly (keyof RunRow)[];

const WRITTEN = [...CHECKED, 'is_active', 'checksum'] as const;

export const INSERT_RUN = `INSERT INTO runs (${WRITTEN.join(', ')}) VALUES (${WRITTEN.map(() => '?').join(', ')})`;
export const UPDATE_RUN = `UPDATE runs SET ${CHANGING.map((column) => `${column} = ?`).join(', ')} WHERE key = ?`;

/** What a commit writes. */
export type WrittenRow = Pick<RunRow, (typeof WRITTEN)[number]>;

// Each column is named here once more: to look it up by its name takes V8 several times as long, for every run of every commit.

/** Of the columns in `CHECKED`. */
const checkedValues = (row: WrittenRow) => [
  row.key,
  row.run_id,
  row.workflow_id,
  row.workflow_type,
  row.catalog,
  row.status,
  row.started_at,
  row.closed_at,
  row.first_run_id,
  row.format,
  row.wake_at,
  row.held_back,
  row.version,
  row.paused,
  row.tree,
];
/** Bound to `INSERT_RUN`. */
export const insertedValues = (row: WrittenRow) => [...checkedValues(row), row.is_active, row.checksum];
/** Bound to `UPDATE_RUN`. */
export const updatedValues = (row: WrittenRow) => [
  row.status,
  row.closed_at,
  row.format,
  row.is_active,
  row.wake_at,
  row.held_back,
  row.version,
  row.paused,
  row.checksum,
  row.key,
];

export function rowOf(run: ActiveRun): WrittenRow {
  const { state } = run;
  const { started, paused } = state;
  const row: WrittenRow = {
    key: run.key,
    run_id: state.runId,
    workflow_id: state.workflowId,
    workflow_type: started.workflowType,
    catalog: started.catalog,
    status: state.status,
    started_at: state.startedAt,
    closed_at: state.closedAt,
    first_run_id: started.firstExecutionRunId,
    format: run.format ?? null,
    is_active: run.isActive ? 1 : 0,
    wake_at: run.dueAt ?? null,
    held_back: run.heldBack ? JSON.stringify(run.heldBack) : null,
    version: run.version ? versionText(run.version) : null,
    paused: paused ? JSON.stringify(paused) : null,
    tree: started.parent ? treeOf(state) : null,
    checksum: null,
  };
  row.checksum = checksumOfRun(row);
  return row;
}

export const checksumOfTrace = (key: number, trace: string): number => rowChecksum('runs.trace', key, trace);

/** @throws DamagedRunError, with whose row it was asked for as */
export function requireSound(row: RunRow, asked: Partial<RunRef> = {}): void {
  const isSound = row.checksum === checksumOfRun(row);
  const hasSoundTrace =
    row.trace_checksum === (row.trace === null ? null : checksumOfTrace(row.key, row.trace));
  if (isSound && hasSoundTrace) return;
  const ref = { workflowId: String(row.workflow_id), runId: String(row.run_id), ...asked };
  throw new DamagedRunError(row.key, 'its row in the run table does not fit its checksum', ref);
}

const checksumOfRun = (row: WrittenRow): number => rowChecksum('runs', ...checkedValues(row));
