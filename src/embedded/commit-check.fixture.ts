/**
 * What must hold on disk after every commit, beyond each run being the fold of its own history: rules of histories, with
 * what waits in the inbox behind them, and runs that have to do with each other agreeing. A kill right now would leave
 * just this.
 */
import { brokenRules } from '../../test/contract/invariants.js';
import { CLOSE_EVENTS, type EventOf, type EventTypeName, type HistoryEvent } from '../core/history/event.js';
import { invariant } from '../core/invariant.js';
import { successorOf } from './calls/outcome.js';
import { type ActiveRun, EVENT_BEFORE } from './store/active-run.js';
import { checkCommit } from './store/check/projection-check.js';
import type { RunRow } from './store/tables/run-row.js';
import type { Tables } from './store/tables/tables.js';

/** Reading everything again after every commit is for tests with few runs and short histories. */
const MAX_EVENTS = 300;
const MAX_RUNS = 100;

export function checkEverything(tables: Tables, runs: Iterable<ActiveRun>): void {
  checkCommit(tables, runs);
  const problems: string[] = [];
  for (const { state } of runs) {
    if (state.lastEventId > MAX_EVENTS) continue;
    const row = tables.runs.byId(state.runId)!;
    for (const problem of problemsOf(tables, row)) problems.push(`${state.workflowId}: ${problem}`);
  }
  if (tables.runs.maxKey() <= MAX_RUNS) {
    for (const { table, runKey } of tables.orphans()) problems.push(`${table} has rows of no run ${runKey}`);
  }
  invariant(problems.length === 0, `after a commit: ${problems.join('; ')}`);
}

function problemsOf(tables: Tables, row: RunRow): string[] {
  const events = eventsWithInbox(tables, row);
  return [
    ...brokenRules(events),
    ...chainProblems(tables, row, events),
    ...parentProblems(tables, row, events),
    ...childProblems(tables, row, events),
    ...messageProblems(tables, row, events),
  ];
}

/** The history as it would go on if the turn under way ended now without a word. */
export function eventsWithInbox(tables: Tables, row: RunRow): HistoryEvent[] {
  const events = tables.history.read(row.key, 0);
  for (const { events: group } of tables.loadRun(row).inbox.groups) {
    for (const { type, attributes } of group) {
      const id = events.length + 1;
      const refers = attributes as { startedEventId?: number };
      const isBefore = refers.startedEventId === EVENT_BEFORE;
      const numbered = isBefore ? { ...attributes, startedEventId: id - 1 } : attributes;
      events.push({ id, at: Number.MAX_SAFE_INTEGER, type, attributes: numbered } as HistoryEvent);
    }
  }
  return events;
}

/** One run follows the other, and only the last of an id is open. */
function chainProblems(tables: Tables, row: RunRow, events: readonly HistoryEvent[]): string[] {
  const problems: string[] = [];
  if (row.closed_at === null) {
    const latest = tables.runs.latest(row.workflow_id)!;
    if (latest.key !== row.key) problems.push(`it is open, and ${latest.run_id} of its id is newer`);
  }
  const last = events.at(-1)!;
  const next = CLOSE_EVENTS.has(last.type) ? successorOf(last) : undefined;
  if (next !== undefined && !tables.runs.byId(next))
    problems.push(`it goes on as ${next}, which is not there`);
  const { continuedExecutionRunId: before } = startOf(events);
  if (before !== undefined && isJustStarted(events)) {
    const previous = tables.runs.byId(before);
    if (!previous || previous.closed_at === null) problems.push(`it follows ${before}, which is not closed`);
  }
  return problems;
}

/** A child that was started is known to its parent, and so is its end. */
function parentProblems(tables: Tables, row: RunRow, events: readonly HistoryEvent[]): string[] {
  const { parent, firstExecutionRunId } = startOf(events);
  if (!parent) return [];
  const parentRow = tables.runs.byId(parent.runId);
  if (!parentRow) return isJustStarted(events) ? [`its parent ${parent.runId} is not there`] : [];
  const known = eventsWithInbox(tables, parentRow);
  const initiated = known[parent.initiatedEventId - 1];
  if (initiated?.type !== 'START_CHILD_WORKFLOW_EXECUTION_INITIATED')
    return ['its parent did not ask for it'];
  if (parentRow.closed_at !== null) return [];
  const { initiatedEventId } = parent;
  const isStarted = ofType(known, 'CHILD_WORKFLOW_EXECUTION_STARTED').some(
    ({ attributes }) =>
      attributes.initiatedEventId === initiatedEventId &&
      attributes.workflowExecution.runId === firstExecutionRunId,
  );
  if (!isStarted) return ['its parent does not know that it was started'];
  const last = events.at(-1)!;
  const isOver = row.closed_at !== null && tables.runs.latest(row.workflow_id)!.key === row.key;
  if (!isOver || successorOf(last) !== undefined) return [];
  return hasEnded(known, initiatedEventId) ? [] : ['it has closed, and its parent does not know'];
}

/** The children that a run waits for are there, and those of a closed run have heard of its end. */
function childProblems(tables: Tables, row: RunRow, events: readonly HistoryEvent[]): string[] {
  const problems: string[] = [];
  const last = events.at(-1)!;
  const isReset = last.type === 'WORKFLOW_EXECUTION_TERMINATED' && last.attributes.newExecutionRunId;
  for (const { type, attributes } of events) {
    if (!ENDS.test(type) || !('workflowExecution' in attributes)) continue;
    const child = tables.runs.byId(attributes.workflowExecution.runId);
    if (child && child.closed_at === null)
      problems.push(`it knows of the end of ${child.workflow_id}, which is open`);
  }
  for (const { attributes } of ofType(events, 'CHILD_WORKFLOW_EXECUTION_STARTED')) {
    const { initiatedEventId, workflowExecution } = attributes;
    if (hasEnded(events, initiatedEventId)) continue;
    const child = tables.runs.latest(workflowExecution.workflowId);
    const isSame = child?.first_run_id === workflowExecution.runId;
    if (row.closed_at === null) {
      if (!isSame) problems.push(`it waits for child ${workflowExecution.workflowId}, which is not there`);
      else if (child.closed_at !== null) problems.push(`its child ${child.workflow_id} has closed unheard`);
      continue;
    }
    // A restart goes on with those that are left.
    if (tables.closings.has(row.key)) continue;
    const { parentClosePolicy } = (events[initiatedEventId - 1] as Initiated).attributes;
    if (isReset || !isSame || child.closed_at !== null || parentClosePolicy === 'ABANDON') continue;
    const heard = eventsWithInbox(tables, child);
    if (ofType(heard, 'WORKFLOW_EXECUTION_CANCEL_REQUESTED').length === 0) {
      problems.push(`it has closed, and its child ${child.workflow_id} goes on`);
    }
  }
  return problems;
}

/** What a run knows to have sent to others has arrived there. */
function messageProblems(tables: Tables, row: RunRow, events: readonly HistoryEvent[]): string[] {
  const sent = new Map<string, number>();
  for (const { attributes } of ofType(events, 'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED')) {
    const { runId } = attributes.workflowExecution;
    sent.set(runId, (sent.get(runId) ?? 0) + 1);
  }
  const problems: string[] = [];
  for (const [runId, count] of sent) {
    const target = tables.runs.byId(runId);
    if (!target) continue;
    const arrived = ofType(eventsWithInbox(tables, target), 'WORKFLOW_EXECUTION_SIGNALED').filter(
      ({ attributes }) => attributes.externalWorkflowExecution?.runId === row.run_id,
    );
    if (arrived.length < count) problems.push(`${count} of its signals reached ${runId}, which has fewer`);
  }
  return problems;
}

type Initiated = EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>;

const ENDS = /^(START_CHILD_WORKFLOW_EXECUTION_FAILED|CHILD_WORKFLOW_EXECUTION_(?!STARTED).*)$/;

const hasEnded = (events: readonly HistoryEvent[], initiatedEventId: number): boolean =>
  events.some(
    ({ type, attributes }) =>
      ENDS.test(type) && (attributes as { initiatedEventId: number }).initiatedEventId === initiatedEventId,
  );

const startOf = ([first]: readonly HistoryEvent[]) =>
  (first as EventOf<'WORKFLOW_EXECUTION_STARTED'>).attributes;

/** Its first commit, or nearly: what it came from cannot have been removed since. */
const isJustStarted = (events: readonly HistoryEvent[]): boolean => events.length <= 2;

const ofType = <T extends EventTypeName>(events: readonly HistoryEvent[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type);
