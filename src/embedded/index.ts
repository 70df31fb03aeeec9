/**
 * The embedded engine: one process, one SQLite file, all transitions in one thread.
 *
 * This file wires the parts and is the two ports; the rules are in the parts (state, turn, lifecycle, turns,
 * step-delivery, waking, reset). Reads are answered from what is committed; writes resolve when they are.
 */
import type Database from 'better-sqlite3';
import type { Catalog } from '../core/catalog.js';
import { type Clock, systemClock } from '../core/clock.js';
import { PerdureError } from '../core/errors.js';
import { newWorkflowId } from '../core/id.js';
import { unreachable } from '../core/invariant.js';
import type { Payload } from '../core/json.js';
import { DEFAULT_LIMITS, type Limits } from '../core/limits.js';
import { type Log, silentLog } from '../core/log.js';
import type { ToWorker } from '../core/task.js';
import type {
  Engine,
  EngineLoad,
  EngineObserver,
  HistoryOptions,
  HistoryPage,
  OutcomeOptions,
  RunDescription,
  RunFilter,
  RunListener,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  RunWatch,
  StartRequest,
  TaskSource,
  TraceInfo,
  WorkerSession,
} from '../engine.js';
import type { ActiveRun } from './active-run.js';
import { Catalogs } from './catalogs.js';
import { openDatabase } from './database.js';
import { GroupCommit } from './group-commit.js';
import { Lifecycle } from './lifecycle.js';
import { Listeners } from './listeners.js';
import type { Machine } from './machine.js';
import { Messages } from './messages.js';
import { Queries } from './queries.js';
import { Reading } from './reading.js';
import { Recovery } from './recovery.js';
import { Relations } from './relations.js';
import { resetRun } from './reset.js';
import { Retention } from './retention.js';
import { Runs } from './runs.js';
import { Sessions } from './sessions.js';
import { StepDelivery } from './step-delivery.js';
import { Tables } from './tables.js';
import { Turns } from './turns.js';
import { Waking } from './waking.js';
import { Dispatcher, type QueuedTask, type WorkerConnection } from './workers.js';

export { DataFolderError } from './database.js';

export interface EmbeddedEngineOptions {
  dataDir: string;
  clock?: Clock;
  limits?: Partial<Limits>;
  log?: Log;
  observer?: EngineObserver;
  /** Storage failed and the engine has stopped: the process should end and start anew. */
  onFatal?: (error: Error) => void;
}

/** The name under which feedback reaches a workflow; always allowed, whatever signals are declared. */
const FEEDBACK_SIGNAL = 'resume';

export class EmbeddedEngine implements Engine, TaskSource, RunWatch {
  readonly #db: Database.Database;
  readonly #log: Log;
  readonly #machine: Machine;
  readonly #catalogs: Catalogs;
  readonly #messages: Messages;
  readonly #reading: Reading;
  readonly #waking: Waking;
  readonly #retention: Retention;
  readonly #recovery: Recovery;
  readonly #sessions: Sessions;
  /** Idempotency keys whose run is not on disk yet. */
  readonly #keysUnderWay = new Map<string, { fingerprint: string; ref: RunRef }>();
  #stopped: Error | undefined;

  static open(options: EmbeddedEngineOptions): EmbeddedEngine {
    return new EmbeddedEngine(openDatabase(options.dataDir), options);
  }

  private constructor(db: Database.Database, options: EmbeddedEngineOptions) {
    this.#db = db;
    this.#log = options.log ?? silentLog;
    const clock = options.clock ?? systemClock;
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const tables = new Tables(db);
    const commit = new GroupCommit(
      db,
      tables,
      (runs) => this.#committed(runs),
      (error) => this.#failed(error, options.onFatal),
      options.observer ?? {},
    );
    this.#catalogs = new Catalogs(tables, commit);
    // The parts know each other through the machine, so it is made first and filled as they are.
    const machine = {
      clock,
      limits,
      tables,
      commit,
      runs: new Runs(tables, limits.cachedRuns, (run) => this.#recovery.loaded(run)),
      dispatcher: new Dispatcher((task, worker) => this.#give(task, worker)),
      observer: options.observer ?? {},
      listeners: new Listeners(),
      settingsOf: (catalog, type) => this.#catalogs.settingsOf(catalog, type),
    } as { -readonly [part in keyof Machine]: Machine[part] };
    machine.lifecycle = new Lifecycle(machine);
    machine.relations = new Relations(machine);
    machine.steps = new StepDelivery(machine);
    machine.turns = new Turns(machine);
    machine.queries = new Queries(machine);
    this.#machine = machine;
    this.#messages = new Messages(machine);
    this.#reading = new Reading(machine);
    this.#waking = new Waking(machine);
    this.#retention = new Retention(machine);
    this.#recovery = new Recovery(machine);
    this.#sessions = new Sessions(machine, this.#catalogs);
    this.#recovery.start();
    this.#waking.start();
    this.#retention.start();
    machine.dispatcher.start();
  }

  #give(task: QueuedTask, worker: WorkerConnection): string | undefined {
    switch (task.kind) {
      case 'turn':
        return this.#machine.turns.handOut(task.runId, worker);
      case 'query':
        return this.#machine.queries.handOut(task.runId, worker);
      case 'step':
        return this.#machine.steps.handOut(task.runId, task.scheduledEventId, worker);
      default:
        return unreachable(task);
    }
  }

  #committed(runs: ReadonlySet<ActiveRun>): void {
    this.#reading.committed(runs);
    this.#waking.committed(runs);
    this.#machine.runs.settle(runs);
  }

  #failed(error: Error, onFatal: EmbeddedEngineOptions['onFatal']): void {
    this.#log.error({ err: error }, 'a commit failed: its outcome is unknown, so the engine stops');
    this.#stop(
      new PerdureError('EngineUnavailableError', 'the storage failed; the server has to be started again'),
    );
    onFatal?.(error);
  }

  #stop(reason: Error): void {
    this.#stopped ??= reason;
    this.#waking.stop();
    this.#retention.stop();
    this.#recovery.stop();
    this.#sessions.stop();
    this.#machine.dispatcher.stop();
    this.#messages.stop();
    this.#reading.stop(reason);
  }

  #requireRunning(): void {
    if (this.#stopped) throw this.#stopped;
  }

  /** Resolves when all that was decided is on disk. */
  async #durable<T>(value: T): Promise<T> {
    try {
      await this.#machine.commit.committed();
    } catch {
      throw this.#stopped;
    }
    return value;
  }

  // ── Engine ───────────────────────────────────────────────────────────────────────────────────────

  async ready(): Promise<void> {
    this.#requireRunning();
  }

  async start(request: StartRequest): Promise<RunRef> {
    this.#requireRunning();
    const { workflowType, catalog, input, idempotency } = request;
    if (idempotency) {
      const known = this.#runOfKey(idempotency.key);
      if (known) {
        if (known.fingerprint !== idempotency.fingerprint) {
          throw new PerdureError(
            'IdempotencyConflictError',
            'the Idempotency-Key was used with another body',
            {
              workflowId: known.ref.workflowId,
            },
          );
        }
        return this.#durable(known.ref);
      }
    }
    const { workflowId = newWorkflowId(workflowType) } = request;
    if (request.workflowId !== undefined && this.#machine.runs.isTaken(workflowId)) {
      const runId = this.#machine.runs.latest(workflowId)?.state.runId;
      throw new PerdureError(
        'WorkflowAlreadyExistsError',
        `the workflow id "${workflowId}" is taken by run ${runId}; ids are unique among open and retained runs`,
        { workflowId, runId },
      );
    }
    const begin = () => this.#machine.lifecycle.start({ workflowId, workflowType, catalog, input });
    const run = request.isAwaited ? this.#machine.commit.keepBack(begin) : begin();
    const ref = { workflowId, runId: run.state.runId };
    if (idempotency) {
      const { key, fingerprint } = idempotency;
      this.#keysUnderWay.set(key, { fingerprint, ref });
      this.#machine.commit.include(run);
      this.#machine.commit.write(() => this.#machine.tables.saveIdempotency(key, fingerprint, run.key));
      this.#machine.commit.afterCommit(() => this.#keysUnderWay.delete(key));
    }
    if (request.isAwaited) return ref;
    return this.#durable(ref);
  }

  #runOfKey(key: string): { fingerprint: string; ref: RunRef } | undefined {
    const underWay = this.#keysUnderWay.get(key);
    if (underWay) return underWay;
    const stored = this.#machine.tables.idempotency(key);
    if (!stored) return undefined;
    const { fingerprint, workflowId, runId } = stored;
    return { fingerprint, ref: { workflowId, runId } };
  }

  async describe(selector: RunSelector): Promise<RunDescription> {
    this.#requireRunning();
    return this.#reading.describe(selector);
  }

  async outcome(selector: RunSelector, options: OutcomeOptions = {}): Promise<RunOutcome | undefined> {
    this.#requireRunning();
    return this.#reading.outcome(selector, options);
  }

  async history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    this.#requireRunning();
    return this.#reading.history(selector, options);
  }

  async signal(selector: RunSelector, name: string, input: Payload[]): Promise<RunRef> {
    const run = this.#openRun(selector, `signal "${name}"`);
    const { workflowId, runId, started } = run.state;
    const workflow = this.#catalogs.workflow(started.catalog, started.workflowType);
    if (workflow?.declaresSignals && name !== FEEDBACK_SIGNAL) {
      const names = workflow.entry.signals.map((signal) => signal.name);
      if (!names.includes(name)) {
        throw new PerdureError(
          'HandlerNotFoundError',
          `workflow ${started.workflowType} has no signal "${name}"; it declares ${names.join(', ') || 'none'}`,
          { workflowId, runId },
        );
      }
    }
    this.#machine.lifecycle.signal(run, { signalName: name, input });
    return this.#durable({ workflowId, runId });
  }

  async query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    this.#requireRunning();
    return this.#messages.query(this.#machine.runs.select(selector), name, input);
  }

  async update(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.#messages.update(this.#openRun(selector, `update "${name}"`), name, input);
  }

  async cancel(selector: RunSelector): Promise<RunRef> {
    const run = this.#openRun(selector, 'the request to stop');
    this.#machine.lifecycle.cancel(run, 'requested by a caller');
    return this.#durable({ workflowId: run.state.workflowId, runId: run.state.runId });
  }

  async terminate(selector: RunSelector, reason: string): Promise<RunRef> {
    const run = this.#openRun(selector, 'the request to terminate');
    this.#machine.lifecycle.endFromOutside(run, {
      type: 'WORKFLOW_EXECUTION_TERMINATED',
      attributes: { reason },
    });
    return this.#durable({ workflowId: run.state.workflowId, runId: run.state.runId });
  }

  async reset(
    selector: RunSelector,
    point: { stepName: string; occurrence?: number; reason?: string },
  ): Promise<RunRef> {
    this.#requireRunning();
    return this.#durable(resetRun(this.#machine, selector, point));
  }

  /** @throws WorkflowNotFoundError, WorkflowAlreadyClosedError */
  #openRun(selector: RunSelector, what: string): ActiveRun {
    this.#requireRunning();
    const run = this.#machine.runs.select(selector);
    if (!run.isClosed) return run;
    const { workflowId, runId, status } = run.state;
    throw new PerdureError(
      'WorkflowAlreadyClosedError',
      `run ${runId} is closed (${status}) and cannot take ${what}`,
      {
        workflowId,
        runId,
      },
    );
  }

  async list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage> {
    this.#requireRunning();
    return this.#reading.list(filter, page);
  }

  async recordTrace(run: RunRef, trace: TraceInfo): Promise<void> {
    this.#requireRunning();
    const { key, trace: known } = this.#machine.runs.selectRow(run);
    const all = { ...(known === null ? {} : (JSON.parse(known) as TraceInfo)), ...trace };
    this.#machine.commit.write(() => this.#machine.tables.saveTrace(key, all));
    await this.#durable(undefined);
  }

  async catalog(name: string): Promise<Catalog | undefined> {
    this.#requireRunning();
    return this.#catalogs.get(name);
  }

  watch(listener: RunListener): () => void {
    return this.#machine.listeners.add(listener);
  }

  isRetained(runId: string): boolean {
    this.#requireRunning();
    return this.#machine.tables.runById(runId) !== undefined;
  }

  load(): EngineLoad {
    return {
      ...this.#sessions.load(),
      ...this.#machine.dispatcher.queued(),
      runsInMemory: this.#machine.runs.size,
    };
  }

  /** A consistent copy of the database, made while the engine goes on. */
  async backup(file: string): Promise<void> {
    this.#requireRunning();
    await this.#db.backup(file);
  }

  async close(): Promise<void> {
    if (!this.#db.open) return;
    this.#machine.commit.flush(true);
    this.#stop(
      new PerdureError('EngineUnavailableError', 'the server is shutting down', { retryAfterSeconds: 1 }),
    );
    this.#db.close();
  }

  // ── TaskSource ───────────────────────────────────────────────────────────────────────────────────

  connect(send: (message: ToWorker) => void): WorkerSession {
    return this.#sessions.connect(send);
  }
}
