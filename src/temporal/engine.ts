/**
 * The Temporal engine: the `Engine` port over a Temporal cluster.
 *
 * All state is the cluster's. What is kept here only saves work or covers the lag of its visibility store, so several
 * servers on one cluster give the same answers. This file wires the parts; each has the rules of its own.
 */
import type { Catalog } from '../core/catalog.js';
import type { Payload } from '../core/json.js';
import { DEFAULT_LIMITS, type Limits } from '../core/limits.js';
import type { Log } from '../core/log.js';
import type {
  Engine,
  HistoryOptions,
  HistoryPage,
  OutcomeOptions,
  RunDescription,
  RunFilter,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  StartRequest,
  TraceInfo,
} from '../engine.js';
import { Catalogs } from './catalogs.js';
import { Cluster, type TemporalSettings } from './connection.js';
import { Control } from './control.js';
import { Histories } from './history.js';
import { IdempotencyKeys } from './idempotency.js';
import { InOrder } from './in-order.js';
import { RunList } from './list.js';
import { Messages } from './messages.js';
import { Outcomes } from './outcome.js';
import { RecentRuns } from './recent.js';
import { type ResetPoint, Resets } from './reset.js';
import { Runs } from './runs.js';
import { Starts } from './start.js';

export interface TemporalEngineOptions {
  settings: TemporalSettings;
  limits?: Partial<Limits>;
  log?: Log;
}

export class TemporalEngine implements Engine {
  readonly #runs: Runs;
  readonly #recent = new RecentRuns();
  readonly #catalogs: Catalogs;
  readonly #starts: Starts;
  readonly #keys: IdempotencyKeys;
  readonly #histories: Histories;
  readonly #outcomes: Outcomes;
  readonly #messages: Messages;
  readonly #control: Control;
  readonly #resets: Resets;
  readonly #list: RunList;

  /** Does not need the cluster: whether that is there, `ready` tells. @throws MissingPeerError */
  static async open({ settings, limits, log }: TemporalEngineOptions): Promise<TemporalEngine> {
    return new TemporalEngine(await Cluster.open(settings, log), { ...DEFAULT_LIMITS, ...limits });
  }

  private constructor(
    private readonly cluster: Cluster,
    limits: Limits,
  ) {
    this.#runs = new Runs(cluster);
    this.#catalogs = new Catalogs(cluster, this.#runs);
    this.#starts = new Starts(cluster, this.#runs, this.#catalogs);
    this.#keys = new IdempotencyKeys(cluster, this.#runs, this.#starts);
    this.#histories = new Histories(cluster, this.#runs);
    this.#outcomes = new Outcomes(cluster, this.#runs);
    const inOrder = new InOrder();
    this.#messages = new Messages(cluster, this.#runs, this.#catalogs, limits, inOrder);
    this.#control = new Control(cluster, this.#runs, inOrder);
    this.#resets = new Resets(cluster, this.#runs, this.#histories, this.#control);
    this.#list = new RunList(cluster, this.#runs, this.#recent);
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

  async describe(selector: RunSelector): Promise<RunDescription> {
    const run = await this.#runs.describe(selector);
    if (run.status !== 'running') this.#recent.closed(run);
    return run;
  }

  async outcome(selector: RunSelector, options: OutcomeOptions = {}): Promise<RunOutcome | undefined> {
    const closed = await this.#outcomes.outcome(selector, options);
    if (closed) this.#recent.closed(closed.run);
    return closed?.outcome;
  }

  history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    return this.#histories.read(selector, options);
  }

  signal(selector: RunSelector, name: string, input: Payload[]): Promise<RunRef> {
    return this.#messages.signal(selector, name, input);
  }

  query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.#messages.query(selector, name, input);
  }

  update(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.#messages.update(selector, name, input);
  }

  cancel(selector: RunSelector): Promise<RunRef> {
    return this.#control.cancel(selector);
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
    return { workflowId: made.workflowId, runId: made.runId };
  }

  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage> {
    return this.#list.list(filter, page);
  }

  /** Where a trace is stands in the memo of its run, which only the worker can write while the run is open. */
  async recordTrace(run: RunRef, _trace: TraceInfo): Promise<void> {
    await this.#runs.look(run);
  }

  catalog(name: string): Promise<Catalog | undefined> {
    return this.#catalogs.get(name);
  }

  close(): Promise<void> {
    return this.cluster.close();
  }
}
