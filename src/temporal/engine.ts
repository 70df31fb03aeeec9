/**
 * The Temporal engine: the `Engine` port over a Temporal cluster.
 *
 * All state is the cluster's. What is kept here only saves work or covers the lag of its visibility store, so several
 * servers on one cluster give the same answers. This file wires the parts; each has the rules of its own.
 */

import { DEFAULT_LIMITS, type Limits } from '../core/bounds/limits.js';
import type { Catalog } from '../core/catalog.js';
import type { BudgetState } from '../core/cost/budget.js';
import type { CostScope, RunCosts } from '../core/cost/sums.js';
import { PerdureError } from '../core/errors.js';
import type { Log } from '../core/log.js';
import type { PausedBy } from '../core/run/pause.js';
import type { Why } from '../core/run/why.js';
import type { TraceContext } from '../core/trace-context.js';
import type { Payload } from '../core/values/json.js';
import type {
  Backup,
  CostReport,
  Engine,
  HistoryOptions,
  HistoryPage,
  OutcomeOptions,
  PauseRequest,
  ResetPoint,
  RunDescription,
  RunFilter,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  SignalOptions,
  StartRequest,
  StoppedRun,
  TraceInfo,
  WorkerDescription,
} from '../engine.js';
import { Control } from './acting/control.js';
import { Messages } from './acting/messages.js';
import { Pauses } from './acting/pausing.js';
import { Resets } from './acting/reset.js';
import { Starts } from './acting/start.js';
import { Cluster, type TemporalSettings } from './cluster/connection.js';
import { InOrder } from './cluster/in-order.js';
import { StartedRuns } from './cluster/started.js';
import { KnownCallbackKey } from './kept/callback-key.js';
import { Catalogs } from './kept/catalogs.js';
import { IdempotencyKeys } from './kept/idempotency.js';
import { Purses } from './kept/purses.js';
import { Costs } from './reading/costs.js';
import { Histories } from './reading/history.js';
import { RunList } from './reading/list.js';
import { Outcomes } from './reading/outcome.js';
import { RecentRuns } from './reading/recent.js';
import { Runs } from './reading/runs.js';
import { Reasons } from './reading/why.js';
import { Workers } from './reading/workers.js';

export interface TemporalEngineOptions {
  settings: TemporalSettings;
  limits?: Partial<Limits>;
  log?: Log;
}

export class TemporalEngine implements Engine {
  readonly #runs: Runs;
  readonly #recent = new RecentRuns();
  readonly #callbackKey: KnownCallbackKey;
  readonly #catalogs: Catalogs;
  readonly #starts: Starts;
  readonly #keys: IdempotencyKeys;
  readonly #histories: Histories;
  readonly #outcomes: Outcomes;
  readonly #messages: Messages;
  readonly #control: Control;
  readonly #pauses: Pauses;
  readonly #resets: Resets;
  readonly #list: RunList;
  readonly #costs: Costs;
  readonly #purses: Purses;
  readonly #workers: Workers;
  readonly #reasons: Reasons;

  /** Does not need the cluster: whether that is there, `ready` tells. @throws MissingPeerError */
  static async open({ settings, limits, log }: TemporalEngineOptions): Promise<TemporalEngine> {
    return new TemporalEngine(await Cluster.open(settings, log), { ...DEFAULT_LIMITS, ...limits });
  }

  private constructor(
    private readonly cluster: Cluster,
    limits: Limits,
  ) {
    const started = new StartedRuns();
    this.#runs = new Runs(cluster);
    this.#callbackKey = new KnownCallbackKey(this.#runs);
    this.#catalogs = new Catalogs(cluster, this.#runs);
    this.#starts = new Starts(cluster, this.#runs, this.#catalogs, started);
    this.#keys = new IdempotencyKeys(cluster, this.#runs, this.#starts);
    this.#histories = new Histories(cluster, this.#runs);
    this.#outcomes = new Outcomes(cluster, this.#runs, started);
    const inOrder = new InOrder();
    this.#messages = new Messages(cluster, this.#runs, this.#catalogs, limits, inOrder);
    this.#pauses = new Pauses(cluster, this.#runs, this.#messages, inOrder);
    this.#purses = new Purses(cluster, this.#runs, this.#pauses);
    this.#control = new Control(cluster, this.#runs, this.#pauses, inOrder);
    this.#resets = new Resets(cluster, this.#runs, this.#histories, this.#control);
    this.#list = new RunList(cluster, this.#runs, this.#recent);
    this.#costs = new Costs(cluster, this.#runs, this.#histories, this.#list);
    this.#workers = new Workers(cluster);
    this.#reasons = new Reasons(
      cluster,
      this.#runs,
      this.#outcomes,
      this.#catalogs,
      this.#workers,
      this.#purses,
    );
  }

  ready(): Promise<void> {
    return this.cluster.ready();
  }

  async start(request: StartRequest): Promise<RunRef> {
    const { idempotency, workflowType, catalog } = request;
    const run = idempotency
      ? await this.#keys.start({ ...request, idempotency })
      : await this.#starts.start(request);
    this.#recent.started({ ...run, workflowType, catalog });
    return run;
  }

  async describe(selector: RunSelector, options?: { withInput?: boolean }): Promise<RunDescription> {
    const run = await this.#runs.describe(selector, options);
    if (run.status !== 'running') this.#recent.closed(run);
    return run;
  }

  async outcome(selector: RunSelector, options: OutcomeOptions = {}): Promise<RunOutcome | undefined> {
    const closed = await this.#outcomes.outcome(selector, options);
    if (closed) this.#recent.closed(closed.run);
    return closed?.outcome;
  }

  async cost(selector: RunSelector, scope: CostScope, take: (run: RunCosts) => void): Promise<CostReport> {
    const run = await this.#costs.take(selector, scope, take);
    const budget = (await this.#purses.stateOf(run)) ?? null;
    return { workflowId: run.workflowId, runId: run.runId, budget };
  }

  setBudget(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }> {
    return this.#purses.set(selector, amount);
  }

  why(selector: RunSelector): Promise<Why> {
    return this.#reasons.why(selector);
  }

  history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    return this.#histories.read(selector, options);
  }

  signal(selector: RunSelector, name: string, input: Payload[], options?: SignalOptions): Promise<RunRef> {
    return this.#messages.signal(selector, name, input, options);
  }

  callbackKey(): Promise<string | undefined> {
    return this.#callbackKey.get();
  }

  query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.#messages.query(selector, name, input);
  }

  update(
    selector: RunSelector,
    name: string,
    input: Payload[],
    traceContext?: TraceContext,
  ): Promise<Payload | undefined> {
    return this.#messages.update(selector, name, input, traceContext);
  }

  cancel(selector: RunSelector): Promise<StoppedRun> {
    return this.#control.cancel(selector);
  }

  pause(selector: RunSelector, request: PauseRequest): Promise<RunRef> {
    return this.#pauses.pause(selector, request);
  }

  resume(selector: RunSelector, options?: { onlyBy?: PausedBy }): Promise<RunRef> {
    return this.#pauses.resume(selector, options);
  }

  async terminate(selector: RunSelector, reason: string): Promise<RunRef> {
    const run = await this.#control.terminate(selector, reason);
    this.#recent.closed(run);
    return { workflowId: run.workflowId, runId: run.runId };
  }

  async reset(selector: RunSelector, point: ResetPoint): Promise<RunRef> {
    const { ended, made } = await this.#resets.reset(selector, point);
    if (ended) this.#recent.closed(ended);
    this.#recent.started(made);
    await this.#pauses.resumeAfterReset(made);
    return { workflowId: made.workflowId, runId: made.runId };
  }

  async backup(): Promise<Backup> {
    throw new PerdureError(
      'NotSupportedByEngineError',
      "On Temporal the runs are in the cluster's database: back that up with its own tools, or export histories with GET /workflow/{id}/history",
    );
  }

  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage> {
    return this.#list.list(filter, page);
  }

  /** Where a trace is stands in the memo of its run, which only the worker can write while the run is open. */
  async recordTrace(run: RunRef, _trace: TraceInfo): Promise<void> {
    await this.#runs.look(run);
  }

  catalog(name: string, since?: number): Promise<Catalog | undefined> {
    return this.#catalogs.get(name, since);
  }

  catalogNames(): Promise<string[]> {
    return this.#workers.catalogs();
  }

  workers(): Promise<WorkerDescription[]> {
    return this.#workers.describe();
  }

  async close(): Promise<void> {
    this.#purses.close();
    await this.cluster.close();
  }
}
