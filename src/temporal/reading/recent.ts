/**
 * What this server has told its callers lately and the visibility store may not know yet: runs that were started, and
 * runs that have closed. The run list shows them as they are.
 */
import type { RunFilter, RunRef, RunSummary } from '../../engine.js';
import { BoundedMap } from '../cluster/bounded-map.js';

export interface RecentRun extends RunRef {
  workflowType: string;
  catalog: string;
  startedAt: number;
  told: 'started' | 'closed';
  /** When it is forgotten. */
  until: number;
}

type Told = RunRef & { workflowType: string; catalog: string };

const REMEMBERED_RUNS = 20_000;
/** The visibility store is behind by about a second when all is well. */
const REMEMBERED_MS = 30_000;

/** How far the time in a run's id may be from its start. */
const INEXACT_MS = 5_000;

export class RecentRuns {
  readonly #runs = new BoundedMap<string, RecentRun>(REMEMBERED_RUNS);

  started(run: Told): void {
    this.#tell(run, 'started');
  }

  closed(run: Told): void {
    this.#tell(run, 'closed');
  }

  #tell({ workflowId, runId, workflowType, catalog }: Told, told: RecentRun['told']): void {
    const startedAt = timeOf(runId) ?? Date.now();
    const until = performance.now() + REMEMBERED_MS;
    this.#runs.set(runId, { workflowId, runId, workflowType, catalog, startedAt, told, until });
  }

  get(runId: string): RecentRun | undefined {
    return this.#runs.peek(runId);
  }

  /** The visibility store shows the run: is that what was told? */
  seen({ runId, status }: RunSummary): boolean {
    const run = this.get(runId);
    if (!run) return true;
    if (run.told === 'closed' && status === 'running') return false;
    this.#runs.delete(runId);
    return true;
  }

  /** Those that may match, by what is known of them without asking; what was told last comes first. */
  matching(filter: RunFilter, span: { from: number; to: number }): RecentRun[] {
    const now = performance.now();
    const found: RecentRun[] = [];
    for (const run of this.#runs.values()) {
      if (run.until < now) this.#runs.delete(run.runId);
      else if (run.startedAt < span.from - INEXACT_MS || run.startedAt > span.to + INEXACT_MS) continue;
      else if (isWanted(run, filter)) found.push(run);
    }
    return found.reverse();
  }
}

/** Of a version 7 UUID. */
function timeOf(runId: string): number | undefined {
  return runId[14] === '7' ? Number.parseInt(runId.slice(0, 8) + runId.slice(9, 13), 16) : undefined;
}

function isWanted({ workflowId, workflowType, catalog }: RecentRun, filter: RunFilter): boolean {
  return (
    (filter.workflowId === undefined || filter.workflowId === workflowId) &&
    (filter.workflowIdPrefix === undefined || workflowId.startsWith(filter.workflowIdPrefix)) &&
    (filter.workflowType === undefined || filter.workflowType === workflowType) &&
    (filter.catalog === undefined || filter.catalog === catalog)
  );
}
