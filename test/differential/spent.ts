/**
 * What an engine says that runs have spent, held against their histories, which the comparison holds against each other.
 *
 * Only costs of steps that have ended count: what a step had said that was under way when its run closed is lost on a
 * cluster and kept by the embedded engine.
 */
import type { CostRecord } from '../../src/core/cost/cost.js';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { Happened } from './driver.js';
import type { RunView } from './run-view.js';

export function wrongCosts({ runs, costs, treeCosts }: Happened): Map<string, string[]> {
  const wrong = new Map<string, string[]>();
  for (const run of runs) {
    const wanted = texts(run.events.flatMap(costsOf));
    const found: string[] = [];
    for (const [scope, reported] of [
      ['run', costs],
      ['tree', treeCosts],
    ] as const) {
      const of = reported.filter(({ runId }) => runId === run.runId);
      if (of.length !== 1) found.push(`scope ${scope} has it ${of.length} times`);
      const said = texts(of.flatMap(({ records }) => records).filter((record) => hasEnded(run, record)));
      if (said !== wanted) found.push(`scope ${scope} says ${said}, and the history ${wanted}`);
    }
    wrong.set(run.runId, found);
  }
  return wrong;
}

const ENDS: ReadonlySet<string> = new Set([
  'ACTIVITY_TASK_COMPLETED',
  'ACTIVITY_TASK_FAILED',
  'ACTIVITY_TASK_TIMED_OUT',
  'ACTIVITY_TASK_CANCELED',
]);

const costsOf = ({ type, attributes }: HistoryEvent): CostRecord[] =>
  ENDS.has(type) ? ((attributes as { costs?: CostRecord[] }).costs ?? []) : [];

function hasEnded({ events }: RunView, { activityId }: CostRecord): boolean {
  return events.some((event) => {
    if (!ENDS.has(event.type)) return false;
    const { scheduledEventId } = event.attributes as { scheduledEventId: number };
    const scheduled = events[scheduledEventId - 1];
    return scheduled?.type === 'ACTIVITY_TASK_SCHEDULED' && scheduled.attributes.activityId === activityId;
  });
}

const texts = (records: readonly CostRecord[]): string =>
  records
    .map((record) => JSON.stringify(record))
    .sort()
    .join();
