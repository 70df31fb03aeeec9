/**
 * The invariants of a data folder after a crash, held against the oracle's ledger. Each function answers with what is
 * wrong, in words; nothing is wrong when it answers with nothing.
 */
import type { HistoryEvent, NewEvent } from '../../src/core/history/event.js';
import { PAUSE_SIGNAL, RESUME_SIGNAL } from '../../src/core/run/pause.js';
import { brokenRules } from '../contract/invariants.js';
import type { Disk, StoredRun } from './disk.js';
import type { Effect } from './effects.js';
import type { Kind, Operation, Operations } from './operations.js';

export interface Verdict {
  /** Acknowledged operations that are not on disk. */
  lost: string[];
  /** Operations that are there more than once. */
  twice: string[];
  /** Everything else that does not hold. */
  broken: string[];
}

export const isFine = ({ lost, twice, broken }: Verdict): boolean =>
  lost.length + twice.length + broken.length === 0;

/** I1, I2, I3, I9, I10, I11, I12 and the rules of every history. `served` are events that callers have seen. */
export function checkDisk(
  disk: Disk,
  operations: Operations,
  served: Iterable<[key: string, type: string]> = [],
): Verdict {
  const verdict: Verdict = { lost: [], twice: [], broken: [...disk.problems] };
  const byRun = new Map(disk.runs.map((run) => [run.row.run_id, run]));
  for (const [key, type] of served) {
    const [runId = '', id] = key.split('/');
    const stored = byRun.get(runId)?.events[Number(id) - 1]?.type;
    if (stored !== type) verdict.broken.push(`event ${key} was served as ${type} and is ${stored}`);
  }
  const byWorkflow = new Map<string, StoredRun[]>();
  for (const run of disk.runs) {
    const { workflow_id: id } = run.row;
    byWorkflow.set(id, [...(byWorkflow.get(id) ?? []), run]);
    for (const rule of brokenRules(run.events)) verdict.broken.push(`${id}: ${rule}`);
  }
  for (const [id, chain] of byWorkflow) {
    const open = chain.filter(({ row }) => row.closed_at === null);
    if (open.length > 1) verdict.broken.push(`${id}: ${open.length} open runs`);
  }
  for (const [id, sent] of groupBy(operations.all, ({ workflowId }) => workflowId)) {
    const chain = byWorkflow.get(id) ?? [];
    const facts = factsOf(chain);
    for (const operation of sent) {
      const times = timesApplied(operation, sent, chain, facts, disk);
      const name = `${operation.kind} ${operation.id} of ${id}`;
      if (operation.outcome === 'acknowledged' && times === 0) verdict.lost.push(name);
      if (times > 1) verdict.twice.push(`${name}: ${times} times`);
      if (!mayBeThere(operation) && times > 0)
        verdict.broken.push(`${name} was ${operation.outcome} and is there`);
    }
    verdict.broken.push(...outOfOrder(id, facts, sent));
  }
  return verdict;
}

/** I6: what the steps did themselves against what the histories say of them. */
export function checkEffects(disk: Disk, effects: readonly Effect[], isClockSet = false): string[] {
  const broken: string[] = [];
  const byKey = groupBy(effects, ({ key }) => key);
  for (const [key, done] of byKey) {
    const attempts = done.map(({ attempt }) => attempt);
    if (new Set(attempts).size < attempts.length) {
      broken.push(`step ${key}: an attempt ran twice (attempts ${attempts.join(', ')})`);
    }
  }
  for (const { row, events } of disk.runs) {
    const scheduled = new Map<number, string>();
    for (const event of events) {
      if (event.type === 'ACTIVITY_TASK_SCHEDULED') {
        scheduled.set(event.id, `${row.run_id}/${event.attributes.activityId}`);
      }
      if (event.type !== 'ACTIVITY_TASK_COMPLETED') continue;
      const key = scheduled.get(event.attributes.scheduledEventId)!;
      const done = byKey.get(key) ?? [];
      // After a reset the new run has completions of the one before, whose key the step had.
      if (done.length === 0 && !isOfReset(events, event)) broken.push(`step ${key} completed and never ran`);
      for (const { attempt, at } of done) {
        if (at > event.at && !isClockSet)
          broken.push(`step ${key}: attempt ${attempt} began ${at - event.at} ms after it had completed`);
      }
    }
  }
  return broken;
}

function isOfReset(events: readonly HistoryEvent[], event: HistoryEvent): boolean {
  return events.some(
    (each) =>
      each.type === 'WORKFLOW_TASK_FAILED' &&
      each.attributes.cause === 'RESET_WORKFLOW' &&
      each.id > event.id,
  );
}

interface Fact {
  kind: Exclude<Kind, 'start' | 'budget'>;
  id: string;
  run: number;
}

/** What happened to the runs of one workflow id by the hand of callers, in order. */
function factsOf(chain: readonly StoredRun[]): Fact[] {
  return chain.flatMap(({ row, events, inbox }, run) =>
    [...events, ...inbox].flatMap((event): Fact[] => {
      const fact = factOf(event, row.run_id);
      return fact ? [{ ...fact, run }] : [];
    }),
  );
}

function factOf(event: HistoryEvent | NewEvent, runId: string): Omit<Fact, 'run'> | undefined {
  switch (event.type) {
    case 'WORKFLOW_EXECUTION_SIGNALED': {
      const { signalName, input } = event.attributes;
      if (signalName === RESUME_SIGNAL) return { kind: 'resume', id: '' };
      if (signalName === PAUSE_SIGNAL) {
        return { kind: 'pause', id: (JSON.parse(input[0]!) as { reason: string }).reason };
      }
      const value = input[0] === undefined ? signalName : String(JSON.parse(input[0]));
      return { kind: 'signal', id: value };
    }
    case 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED':
      return { kind: 'update', id: String(JSON.parse(event.attributes.input[0]!)) };
    case 'WORKFLOW_EXECUTION_CANCEL_REQUESTED':
      return { kind: 'stop', id: '' };
    case 'WORKFLOW_EXECUTION_TERMINATED':
      return { kind: 'terminate', id: event.attributes.reason };
    case 'WORKFLOW_TASK_FAILED':
      // The history that a reset keeps may hold an earlier one.
      return event.attributes.cause === 'RESET_WORKFLOW' && event.attributes.newRunId === runId
        ? { kind: 'reset', id: event.attributes.failure.message }
        : undefined;
    default:
      return undefined;
  }
}

const mayBeThere = ({ outcome }: Pick<Operation, 'outcome'>): boolean =>
  outcome !== 'refused' && outcome !== 'unsent';

function timesApplied(
  { kind, id, outcome, answer }: Operation,
  sent: readonly Operation[],
  chain: readonly StoredRun[],
  facts: readonly Fact[],
  disk: Disk,
): number {
  const resets = facts.filter((fact) => fact.kind === 'reset');
  switch (kind) {
    case 'start': {
      // Runs that begin a chain, rather than go on with one or with a part of its history.
      const starts = chain.filter(({ row }) => row.first_run_id === row.run_id);
      // A run without the key that made it would be made again.
      return disk.runOfKey(id) === undefined ? 0 : starts.length;
    }
    case 'signal': {
      const places = facts.filter((fact) => fact.kind === 'signal' && fact.id === id);
      // A reset delivers them again, to the new run; there each is once.
      const last = chain.length - 1;
      return resets.length > 0 ? places.filter(({ run }) => run === last).length : places.length;
    }
    case 'update':
      return facts.filter((fact) => fact.kind === 'update' && fact.id === id).length;
    case 'stop': {
      const asked = facts.filter((fact) => fact.kind === 'stop').length;
      // A request has no name in the history: what is there may be that of another client, who closed the run by it.
      const isOfAnother = sent.some((each) => each.kind === 'stop' && mayBeThere(each));
      if (!mayBeThere({ outcome }) && isOfAnother) return 0;
      if (asked > 0 || outcome !== 'acknowledged') return Math.min(asked, 1);
      // On a run that is closed it changes nothing, and is acknowledged all the same; another may have gone on from it.
      const { runId } = answer as { runId: string };
      const named = chain.find(({ row }) => row.run_id === runId);
      return named !== undefined && named.row.closed_at !== null ? 1 : 0;
    }
    case 'resume': {
      // It has no name in the history either, and changes nothing in a run that is not paused.
      if (!mayBeThere({ outcome })) return 0;
      const isPaused = chain.at(-1)?.row.paused !== null;
      return facts.some((fact) => fact.kind === 'resume') || (outcome === 'acknowledged' && !isPaused)
        ? 1
        : 0;
    }
    case 'budget': {
      const { amount } = disk.purses.find(({ tree }) => tree === chain[0]?.row.first_run_id) ?? {};
      if (amount === id) return 1;
      // Whoever came later has changed it again.
      const later = sent.slice(sent.findIndex((each) => each.id === id) + 1);
      const isChanged = later.some((each) => each.kind === 'budget' && each.id === amount);
      return outcome === 'acknowledged' && isChanged ? 1 : 0;
    }
    case 'terminate':
    case 'pause':
    case 'reset':
      return facts.filter((fact) => fact.kind === kind && fact.id === id).length;
  }
}

/** I11: what was acknowledged of one sender's messages stands in the order in which he sent them. */
function outOfOrder(workflowId: string, facts: readonly Fact[], sent: readonly Operation[]): string[] {
  const place = new Map<string, number>();
  facts.forEach(({ kind, id }, index) => {
    if (kind === 'signal') place.set(id, index);
  });
  const broken: string[] = [];
  const lastOf = new Map<string, { id: string; at: number }>();
  for (const { kind, id, sender, outcome } of sent) {
    const at = kind === 'signal' && outcome === 'acknowledged' ? place.get(id) : undefined;
    if (at === undefined) continue;
    const last = lastOf.get(sender);
    if (last && last.at > at)
      broken.push(`${workflowId}: signal ${id} stands before ${last.id}, sent earlier by ${sender}`);
    lastOf.set(sender, { id, at });
  }
  return broken;
}

function groupBy<T, K>(list: Iterable<T>, keyOf: (each: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const each of list) {
    const key = keyOf(each);
    const group = groups.get(key);
    if (group) group.push(each);
    else groups.set(key, [each]);
  }
  return groups;
}
