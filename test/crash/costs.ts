/**
 * What steps have spent, after a crash. Every attempt of the steps here says that it has spent the same, under a name of its
 * own, right after it has written down what it did; so what is on disk can be held against both.
 */
import type { HistoryEvent, NewEvent } from '../../src/core/history/event.js';
import type { Verdict } from './checks.js';
import type { Disk, StoredRun } from './disk.js';
import type { Effect } from './effects.js';

/** What callers were told before. */
export interface ToldCosts {
  /** Names of what was spent. */
  names: readonly string[];
  /** What was spent of a budget, by the run at the root of its tree. */
  spent: readonly { workflowId: string; cents: number }[];
}

const NOTHING_TOLD: ToldCosts = { names: [], spent: [] };

/** Each attempt spends one cent. */
export const centsOf = (amount: string): number => Math.round(Number(amount) * 100);

/** What was told is there; everything is there once, and out of the purse of its tree; nothing is there that did not run. */
export function checkCosts(disk: Disk, effects: readonly Effect[], told = NOTHING_TOLD): Verdict {
  const verdict: Verdict = { lost: [], twice: [], broken: [] };
  const ran = new Set(effects.map(({ key, attempt }) => `${key}#${attempt}`));
  const standing = new Map<string, number>();
  const byTree = new Map<string, { runs: StoredRun[]; cents: number }>();
  for (const run of disk.runs) {
    const names = namesIn(run);
    for (const name of names) {
      standing.set(name, (standing.get(name) ?? 0) + 1);
      if (!ran.has(name)) verdict.broken.push(`${name} was spent by an attempt that never ran`);
    }
    verdict.lost.push(...unpaidIn(run));
    const tree = run.row.tree ?? run.row.first_run_id;
    const known = byTree.get(tree) ?? { runs: [], cents: 0 };
    byTree.set(tree, { runs: [...known.runs, run], cents: known.cents + names.length });
  }
  for (const [name, times] of standing) if (times > 1) verdict.twice.push(`cost ${name}: ${times} times`);
  for (const name of told.names) if (!standing.has(name)) verdict.lost.push(`cost ${name}`);
  const purses = new Map(disk.purses.map((purse) => [purse.tree, centsOf(purse.spent)]));
  const roots = new Map(disk.runs.map(({ row }) => [row.workflow_id, row.first_run_id]));
  for (const { workflowId, cents } of told.spent) {
    const paid = purses.get(roots.get(workflowId) ?? '') ?? 0;
    if (paid < cents)
      verdict.lost.push(`of ${cents} cents that ${workflowId} had spent its purse has ${paid}`);
  }
  for (const [tree, paid] of purses) {
    const { runs, cents } = byTree.get(tree) ?? { runs: [], cents: 0 };
    const most = runs.some(wasEnded) ? attemptsOf(runs, effects) : cents;
    if (paid < cents) verdict.lost.push(`of ${cents} cents the purse of tree ${tree} has ${paid}`);
    if (paid > most) verdict.twice.push(`of ${most} cents the purse of tree ${tree} has ${paid}`);
  }
  return verdict;
}

/** What stands in the run's own part of its history, in its inbox and with its open steps. */
function namesIn({ row, events, inbox, openCosts }: StoredRun): string[] {
  const own = events.slice(copiedUpTo(events, row.run_id));
  const said = [...own, ...inbox].flatMap(({ attributes }: HistoryEvent | NewEvent) =>
    'costs' in attributes && attributes.costs ? attributes.costs : [],
  );
  return [...said, ...openCosts].map(({ label }) => label!);
}

/** Where its own part begins: after what a reset has taken over from another run. */
const copiedUpTo = (events: readonly HistoryEvent[], runId: string): number =>
  events.find(
    ({ type, attributes }) =>
      type === 'WORKFLOW_TASK_FAILED' && 'newRunId' in attributes && attributes.newRunId === runId,
  )?.id ?? 0;

/** The attempt that completes a step has said what it spent, so the completion has it. */
function unpaidIn({ row, events }: StoredRun): string[] {
  const ids = new Map<number, string>();
  const attempts = new Map<number, number>();
  const unpaid: string[] = [];
  for (const event of events) {
    if (event.type === 'ACTIVITY_TASK_SCHEDULED') ids.set(event.id, event.attributes.activityId);
    if (event.type === 'ACTIVITY_TASK_STARTED') {
      attempts.set(event.attributes.scheduledEventId, event.attributes.attempt);
    }
    if (event.type !== 'ACTIVITY_TASK_COMPLETED' || event.id <= copiedUpTo(events, row.run_id)) continue;
    const { scheduledEventId, costs = [] } = event.attributes;
    const name = `${row.run_id}/${ids.get(scheduledEventId)}#${attempts.get(scheduledEventId)}`;
    if (!costs.some(({ label }) => label === name)) unpaid.push(`cost ${name} of a completed step`);
  }
  return unpaid;
}

/** What its steps say afterwards is in the purse and in no history any more. */
const wasEnded = ({ events, inbox }: StoredRun): boolean =>
  [...events, ...inbox].some(
    ({ type }) =>
      type === 'WORKFLOW_EXECUTION_CANCEL_REQUESTED' ||
      type === 'WORKFLOW_EXECUTION_TERMINATED' ||
      type === 'WORKFLOW_EXECUTION_FAILED',
  );

function attemptsOf(runs: readonly StoredRun[], effects: readonly Effect[]): number {
  const ids = new Set(runs.map(({ row }) => row.run_id));
  return effects.filter(({ key }) => ids.has(key.slice(0, key.indexOf('/')))).length;
}
