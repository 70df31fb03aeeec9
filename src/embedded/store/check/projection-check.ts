/**
 * Whether the tables are what they claim to be: the fold of the histories plus what arrived. Only reads.
 *
 * `problemsOnDisk` looks at one run as it is stored; `problemsInMemory` holds a run that was just committed against what
 * a start would read of it, so that nothing which is known only here is lost by a kill.
 */
import { isDeepStrictEqual } from 'node:util';
import { invariant } from '../../../core/invariant.js';
import { markArrived } from '../../state/arrivals.js';
import type { ActiveRun } from '../active-run.js';
import type { RunRow } from '../tables/run-row.js';
import type { Tables } from '../tables/tables.js';

/** Histories beyond this are not read again after every commit of their run, but after one of some. */
const MAX_EVENTS_EACH_TIME = 500;
const SOME = 50;

/** Throws when a run of this commit is not on disk as it is in memory. */
export function checkCommit(tables: Tables, runs: Iterable<ActiveRun>): void {
  for (const run of runs) {
    const { lastEventId, runId, workflowId } = run.state;
    if (lastEventId > MAX_EVENTS_EACH_TIME && lastEventId % SOME !== 0) continue;
    const problems = problemsInMemory(tables, run);
    invariant(
      problems.length === 0,
      `run ${runId} of "${workflowId}" is not what its commit should have written: ${problems.join('; ')}`,
    );
  }
}

/** What is wrong with the rows of the run. @throws when its history cannot be read at all */
export function problemsOnDisk(tables: Tables, row: RunRow): string[] {
  return compareRow(row, storedRun(tables, row));
}

/** How the run in memory, all of which has been committed, differs from what is on disk. */
export function problemsInMemory(tables: Tables, run: ActiveRun): string[] {
  const row = tables.runs.byId(run.state.runId);
  if (!row) return ['it has no row'];
  const stored = storedRun(tables, row);
  const problems = compareRow(row, stored);
  const expect = (what: string, actual: unknown, expected: unknown) => {
    const [onDisk, wanted] = [textOf(actual), textOf(expected)];
    // The same text is the same value; of two that differ, the order of keys may be all.
    if (onDisk === wanted) return;
    const [a, b] = [JSON.parse(onDisk), JSON.parse(wanted)] as unknown[];
    if (!isDeepStrictEqual(a, b)) problems.push(`${what} on disk is ${show(a)} and should be ${show(b)}`);
  };
  expect('key', row.key, run.key);
  expect('format', row.format, run.format ?? null);
  expect('held_back', stored.heldBack, run.heldBack);
  expect('version', stored.version, run.version);
  expect('started_at', row.started_at, run.state.startedAt);
  expect('inbox', stored.inbox.groups, run.inbox.groups);
  for (const name of Object.keys(run.state) as (keyof ActiveRun['state'])[]) {
    expect(name, stored.state[name], run.state[name]);
  }
  if (run.unsaved.length > 0 || run.changedSteps.size > 0 || run.isNew || !run.inbox.isSaved) {
    problems.push('the run does not know that it was saved');
  }
  return problems;
}

/** The run as a start would read it, before it is taken up. */
function storedRun(tables: Tables, row: RunRow): ActiveRun {
  const stored = tables.loadRun(row);
  for (const { events } of stored.inbox.groups) for (const event of events) markArrived(stored.state, event);
  return stored;
}

function compareRow(row: RunRow, stored: ActiveRun): string[] {
  const { state } = stored;
  const problems: string[] = [];
  const expect = (column: keyof RunRow, expected: string | number | null) => {
    if (row[column] !== expected)
      problems.push(`${column} is ${show(row[column])} and should be ${show(expected)}`);
  };
  expect('workflow_id', state.workflowId);
  expect('workflow_type', state.started.workflowType);
  expect('catalog', state.started.catalog);
  expect('first_run_id', state.started.firstExecutionRunId);
  expect('status', state.status);
  expect('closed_at', state.closedAt);
  expect('paused', state.paused ? JSON.stringify(state.paused) : null);
  expect('is_active', stored.isActive ? 1 : 0);
  const due = stored.dueAt;
  if (due !== undefined && (row.wake_at === null || row.wake_at > due)) {
    problems.push(`wake_at is ${row.wake_at} and may not be later than ${due}`);
  }
  if (stored.isClosed && row.wake_at !== null) problems.push('it is closed and has a wake_at');
  return problems;
}

/** As it would be stored: what is undefined is not there, maps are their entries. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (each instanceof Map ? [...each] : each)) ?? 'null';
}

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
