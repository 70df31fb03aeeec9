/**
 * What runs have spent, read from their histories and, for steps under way, from the details of their heartbeats. Which
 * runs belong together is read there too. The visibility store, which lags behind, is asked only for what the histories do
 * not say: of several resets of one run the cluster remembers the last.
 */

import type { CostRecord } from '../../core/cost/cost.js';
import { type CostScope, costsIn, ownEvents, type RunCosts } from '../../core/cost/sums.js';
import { PerdureError } from '../../core/errors.js';
import { CLOSE_EVENTS, type HistoryEvent } from '../../core/history/event.js';
import type { RunRef, RunSelector } from '../../engine.js';
import { BoundedMap } from '../cluster/bounded-map.js';
import type { Cluster } from '../cluster/connection.js';
import { costsOfHeartbeat } from '../translate/costs.js';
import type { Histories } from './history.js';
import type { RunList } from './list.js';
import type { KnownRun, Runs } from './runs.js';

/** What was read of a run so far; a history only ever grows. */
interface Read {
  upTo: number;
  hasEnded: boolean;
  records: CostRecord[];
  /** Without what a reset has taken over from another run. */
  own: CostRecord[];
  /** Runs of the same id, and children, that the events name. */
  kin: RunRef[];
  children: RunRef[];
}

const PAGE_EVENTS = 1_000;
/** Records and runs that are remembered over all runs. */
const REMEMBERED = 100_000;
const PAGE_RUNS = 1_000;

export class Costs {
  readonly #read = new BoundedMap<string, Read>(
    REMEMBERED,
    ({ records, kin, children }) => 10 + records.length + kin.length + children.length,
  );

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
    private readonly histories: Histories,
    private readonly list: RunList,
  ) {}

  /** Answers with the run that was asked for. @throws WorkflowNotFoundError */
  async take(selector: RunSelector, scope: CostScope, take: (run: RunCosts) => void): Promise<KnownRun> {
    const run = await this.runs.look(selector);
    if (scope === 'run') {
      take((await this.#costsOf(run, true)).costs);
      return run;
    }
    // The latest of the id leads back to those that a reset of a closed run has led to.
    const wanted: RunRef[] = [run, await this.runs.look({ workflowId: run.workflowId })];
    const seen = new Set<string>();
    const listed = new Set<string>();
    for (let ref = wanted.pop(); ref; ref = wanted.pop()) {
      if (seen.has(ref.runId)) continue;
      seen.add(ref.runId);
      const known = await this.#known(ref);
      // Retention has removed it.
      if (!known) continue;
      const { costs, read } = await this.#costsOf(known, false);
      take(costs);
      wanted.push(...read.kin);
      if (known.resetRunId) {
        wanted.push({ ...ref, runId: known.resetRunId });
        if (!listed.has(ref.workflowId)) wanted.push(...(await this.#chainOf(known)));
        listed.add(ref.workflowId);
      }
      if (scope === 'tree') wanted.push(...read.children);
    }
    return run;
  }

  /** As far as the visibility store knows it. After a reset of its parent, a child of the same id is of another chain. */
  async #chainOf({ workflowId, firstRunId }: KnownRun): Promise<RunRef[]> {
    const chain: RunRef[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.list.list({ workflowId }, { limit: PAGE_RUNS, ...(cursor && { cursor }) });
      for (const { runId } of page.runs) {
        const known = await this.#known({ workflowId, runId });
        if (known?.firstRunId !== undefined && known.firstRunId === firstRunId)
          chain.push({ workflowId, runId });
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return chain;
  }

  async #known(ref: RunRef): Promise<KnownRun | undefined> {
    try {
      return await this.runs.look(ref);
    } catch (error) {
      if (error instanceof PerdureError && error.name === 'WorkflowNotFoundError') return undefined;
      throw error;
    }
  }

  async #costsOf(run: KnownRun, withTakenOver: boolean): Promise<{ costs: RunCosts; read: Read }> {
    // First those under way: a step that ends between the two is counted by its outcome, and neither twice nor never.
    const open = run.status === 'running' ? await this.#underWay(run) : new Map<string, CostRecord[]>();
    const read = await this.#readOn(run);
    const records = withTakenOver ? [...read.records] : [...read.own];
    const ended = new Set(read.records.map(({ activityId }) => activityId));
    for (const [activityId, costs] of open) if (!ended.has(activityId)) records.push(...costs);
    const { workflowId, runId, workflowType } = run;
    return { costs: { workflowId, runId, workflowType, records }, read };
  }

  /** What the steps under way have said, by their ids. */
  async #underWay({ workflowId, runId }: RunRef): Promise<Map<string, CostRecord[]>> {
    const { namespace } = this.cluster;
    const { pendingActivities } = await this.cluster.call((service) =>
      service.describeWorkflowExecution({ namespace, execution: { workflowId, runId } }),
    );
    const open = new Map<string, CostRecord[]>();
    for (const { activityId, heartbeatDetails } of pendingActivities ?? []) {
      const costs = costsOfHeartbeat(heartbeatDetails?.payloads?.[0]);
      if (activityId && costs.length > 0) open.set(activityId, costs);
    }
    return open;
  }

  async #readOn({ workflowId, runId }: RunRef): Promise<Read> {
    const known = this.#read.get(runId);
    if (known?.hasEnded) return known;
    const read: Read = known
      ? {
          ...known,
          records: [...known.records],
          own: [...known.own],
          kin: [...known.kin],
          children: [...known.children],
        }
      : { upTo: 0, hasEnded: false, records: [], own: [], kin: [], children: [] };
    for (;;) {
      const page = await this.histories.read(
        { workflowId, runId },
        { afterEventId: read.upTo, limit: PAGE_EVENTS },
      );
      take(read, workflowId, page.events);
      read.hasEnded = page.ended;
      if (page.ended || page.events.length === 0) break;
    }
    this.#read.set(runId, read);
    return read;
  }
}

function take(read: Read, workflowId: string, events: HistoryEvent[]): void {
  if (events.length === 0) return;
  const records = costsIn(events);
  const own = ownEvents(events);
  read.records.push(...records);
  // A reset among them says that all before it were taken over.
  if (own.length < events.length) read.own = [];
  read.own.push(...costsIn(own));
  for (const event of events) {
    const kin = kinOf(event);
    for (const runId of kin) read.kin.push({ workflowId, runId });
    if (event.type === 'CHILD_WORKFLOW_EXECUTION_STARTED')
      read.children.push(event.attributes.workflowExecution);
  }
  read.upTo = events.at(-1)!.id;
}

/** Runs of the same chain that the event names. */
function kinOf({ type, attributes }: HistoryEvent): string[] {
  const { continuedExecutionRunId, newExecutionRunId, baseRunId } = attributes as Record<
    string,
    string | undefined
  >;
  if (type === 'WORKFLOW_EXECUTION_STARTED') return continuedExecutionRunId ? [continuedExecutionRunId] : [];
  if (type === 'WORKFLOW_TASK_FAILED') return baseRunId ? [baseRunId] : [];
  return CLOSE_EVENTS.has(type) && newExecutionRunId ? [newExecutionRunId] : [];
}
