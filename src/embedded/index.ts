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
import type { FromWorker, ToWorker } from '../core/task.js';
import type {
  Engine,
  HistoryPage,
  RunDescription,
  RunFilter,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  RunSummary,
  StartRequest,
  TaskSource,
  WorkerSession,
} from '../engine.js';
import type { ActiveRun } from './active-run.js';
import { Catalogs } from './catalogs.js';
import { openDatabase } from './database.js';
import { GroupCommit } from './group-commit.js';
import { Lifecycle, type Machine } from './lifecycle.js';
import { Messages } from './messages.js';
import { type ClosedRun, closedRunOf, outcomeOf, successorOf } from './outcome.js';
import { resetRun } from './reset.js';
import { Retention } from './retention.js';
import { Runs } from './runs.js';
import { StepDelivering } from './step-delivery.js';
import { type RunRow, Tables } from './tables.js';
import { Turns } from './turns.js';
import { Waiters } from './waiting.js';
import { Waking } from './waking.js';
import { Dispatcher, type QueuedTask, WorkerConnection } from './workers.js';

export { DataFolderError } from './database.js';

export interface EmbeddedEngineOptions {
  dataDir: string;
  clock?: Clock;
  limits?: Partial<Limits>;
  log?: Log;
  /** Storage failed and the engine has stopped: the process should end and start anew. */
  onFatal?: (error: Error) => void;
}

/** The name under which feedback reaches a workflow; always allowed, whatever signals are declared. */
const FEEDBACK_SIGNAL = 'resume';

/** Runs taken up after a start before other work gets its turn. */
const TAKE_UP_BATCH = 100;

export class EmbeddedEngine implements Engine, TaskSource {
  readonly #db: Database.Database;
  readonly #tables: Tables;
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #log: Log;
  readonly #runs: Runs;
  readonly #catalogs: Catalogs;
  readonly #dispatcher: Dispatcher;
  readonly #lifecycle: Lifecycle;
  readonly #steps: StepDelivering;
  readonly #turns: Turns;
  readonly #messages: Messages;
  readonly #waking: Waking;
  readonly #retention: Retention;
  readonly #forEvents = new Waiters<true>();
  readonly #forClose = new Waiters<ClosedRun>();
  readonly #workers = new Set<WorkerConnection>();
  readonly #machine: Machine;
  /** Idempotency keys whose run is not on disk yet. */
  readonly #keysUnderWay = new Map<string, { fingerprint: string; ref: RunRef }>();
  /** Runs that were active when the last process ended and have not been loaded since. */
  readonly #toTakeUp = new Set<string>();
  /** The code that each catalog's workers registered last. */
  readonly #codeIds = new Map<string, string>();
  #stopped: Error | undefined;

  static open(options: EmbeddedEngineOptions): EmbeddedEngine {
    return new EmbeddedEngine(openDatabase(options.dataDir), options);
  }

  private constructor(db: Database.Database, options: EmbeddedEngineOptions) {
    this.#db = db;
    this.#clock = options.clock ?? systemClock;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#log = options.log ?? silentLog;
    this.#tables = new Tables(db);
    this.#commit = new GroupCommit(
      db,
      this.#tables,
      (runs) => this.#committed(runs),
      (error) => this.#failed(error, options.onFatal),
    );
    this.#catalogs = new Catalogs(this.#tables, this.#commit);
    this.#dispatcher = new Dispatcher((task, worker) => this.#give(task, worker));
    this.#runs = new Runs(this.#tables, this.#limits.cachedRuns, (run) => this.#loaded(run));
    const parts = {
      clock: this.#clock,
      limits: this.#limits,
      runs: this.#runs,
      commit: this.#commit,
      dispatcher: this.#dispatcher,
      settingsOf: (catalog: string, type: string) => this.#catalogs.settingsOf(catalog, type),
    } as Machine & { steps: StepDelivering };
    this.#machine = parts;
    this.#lifecycle = new Lifecycle(parts);
    this.#steps = new StepDelivering(parts, this.#lifecycle);
    parts.steps = this.#steps;
    this.#turns = new Turns(parts, this.#lifecycle, this.#tables);
    this.#messages = new Messages(parts, this.#lifecycle, this.#turns);
    this.#waking = new Waking(parts, this.#lifecycle, this.#turns, this.#tables);
    this.#retention = new Retention(this.#tables, this.#commit, this.#clock, this.#limits);
    this.#recover();
    this.#waking.start();
    this.#retention.start();
  }

  /** Takes up what was under way when the last process ended. */
  #recover(): void {
    for (const runId of this.#tables.activeRuns()) this.#toTakeUp.add(runId);
    const takeUpSome = () => {
      if (this.#stopped) return;
      let count = 0;
      for (const runId of this.#toTakeUp) {
        this.#runs.get(runId);
        if (++count >= TAKE_UP_BATCH) break;
      }
      if (this.#toTakeUp.size > 0) setImmediate(takeUpSome);
    };
    takeUpSome();
  }

  /** A run came into memory: it has no turn under way, so what waited in its inbox comes into its history. */
  #loaded(run: ActiveRun): void {
    if (!run.isClosed && this.#lifecycle.emptyInbox(run)) this.#lifecycle.scheduleTurn(run);
    if (this.#toTakeUp.delete(run.state.runId) && !run.isClosed) this.#takeUp(run);
  }

  #takeUp(run: ActiveRun): void {
    for (const step of [...run.state.steps.values()]) {
      if (step.delivery.status === 'queued') this.#steps.enqueue(run, step);
      else if (step.delivery.status === 'running') {
        run.handedOut.delete(step.scheduledEventId);
        this.#steps.attemptLost(run, step, 'the server stopped while the step was running', false);
      }
    }
    if (run.needsTurn) this.#lifecycle.queueTurn(run);
  }

  #give(task: QueuedTask, worker: WorkerConnection): boolean {
    switch (task.kind) {
      case 'turn':
        return this.#turns.handOut(task.runId, worker);
      case 'query':
        return this.#turns.handOutQueries(task.runId, worker);
      case 'step':
        return this.#steps.handOut(task.runId, task.scheduledEventId, worker);
      default:
        return unreachable(task);
    }
  }

  #committed(runs: ReadonlySet<ActiveRun>): void {
    for (const run of runs) {
      const { runId } = run.state;
      this.#forEvents.wake(runId, true);
      if (run.isClosed && this.#forClose.has(runId)) this.#forClose.wake(runId, closedRunOf(run));
    }
    this.#waking.committed(runs);
    this.#runs.settle(runs);
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
    this.#messages.stop();
    this.#forEvents.letAllGo();
    this.#forClose.letAllGo();
  }

  #requireRunning(): void {
    if (this.#stopped) throw this.#stopped;
  }

  /** Resolves when all that was decided is on disk. */
  async #durable<T>(value: T): Promise<T> {
    try {
      await this.#commit.committed();
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
    if (request.workflowId !== undefined && this.#runs.isTaken(workflowId)) {
      const runId = this.#runs.latest(workflowId)?.state.runId;
      throw new PerdureError(
        'WorkflowAlreadyExistsError',
        `the workflow id "${workflowId}" is taken by run ${runId}; ids are unique among open and retained runs`,
        { workflowId, runId },
      );
    }
    const run = this.#lifecycle.start({ workflowId, workflowType, catalog, input });
    const ref = { workflowId, runId: run.state.runId };
    if (idempotency) {
      const { key, fingerprint } = idempotency;
      this.#keysUnderWay.set(key, { fingerprint, ref });
      this.#commit.write(() => this.#tables.saveIdempotency(key, fingerprint, run.key));
      this.#commit.afterCommit(() => this.#keysUnderWay.delete(key));
    }
    return this.#durable(ref);
  }

  #runOfKey(key: string): { fingerprint: string; ref: RunRef } | undefined {
    const underWay = this.#keysUnderWay.get(key);
    if (underWay) return underWay;
    const stored = this.#tables.idempotency(key);
    if (!stored) return undefined;
    const { fingerprint, workflowId, runId } = stored;
    return { fingerprint, ref: { workflowId, runId } };
  }

  async describe(selector: RunSelector): Promise<RunDescription> {
    this.#requireRunning();
    const row = this.#runs.selectRow(selector);
    const description: RunDescription = {
      ...summaryOf(row),
      historyLength: this.#tables.historyLength(row.key),
      input: this.#inputOf(row.key),
      firstRunId: row.first_run_id,
    };
    if (row.held_back !== null) {
      const { reason, since } = JSON.parse(row.held_back) as { reason: string; since: number };
      description.heldBack = { reason, since };
    }
    return description;
  }

  async outcome(
    selector: RunSelector,
    options: { waitMs?: number; followChain?: boolean; abort?: AbortSignal } = {},
  ): Promise<RunOutcome | undefined> {
    this.#requireRunning();
    const { waitMs = 0, abort } = options;
    const follow = options.followChain ?? selector.runId === undefined;
    const until = this.#clock.now() + waitMs;
    let runId = this.#isOpenInMemory(selector) ? selector.runId! : this.#runs.selectRow(selector).run_id;
    for (;;) {
      const isOpen = this.#runs.inMemory(runId)?.isClosed === false;
      let closed = isOpen ? undefined : this.#closedRun({ workflowId: selector.workflowId, runId });
      if (!closed) {
        closed = await this.#forClose.wait(runId, until - this.#clock.now(), abort);
        this.#requireRunning();
        closed ??= this.#closedRun({ workflowId: selector.workflowId, runId });
        if (!closed) return undefined;
      }
      const next = follow ? successorOf(closed.close) : undefined;
      if (next === undefined) return this.#outcomeOf(closed, follow);
      runId = next;
    }
  }

  #isOpenInMemory({ workflowId, runId }: RunSelector): boolean {
    const run = runId === undefined ? undefined : this.#runs.inMemory(runId);
    return run !== undefined && run.state.workflowId === workflowId && !run.isClosed;
  }

  #closedRun(selector: RunSelector): ClosedRun | undefined {
    const row = this.#runs.selectRow(selector);
    if (row.closed_at === null) return undefined;
    const { workflow_id: workflowId, run_id: runId, first_run_id: firstRunId, format } = row;
    return {
      workflowId,
      runId,
      firstRunId,
      format: format ?? 'current',
      input: this.#inputOf(row.key),
      close: this.#tables.lastEvent(row.key),
    };
  }

  #outcomeOf(closed: ClosedRun, ofChain: boolean): RunOutcome {
    const first =
      ofChain && closed.firstRunId !== closed.runId ? this.#tables.runById(closed.firstRunId) : undefined;
    return outcomeOf(closed, first ? this.#inputOf(first.key) : closed.input);
  }

  #inputOf(key: number): Payload | undefined {
    const first = this.#tables.firstEvent(key);
    return first.type === 'WORKFLOW_EXECUTION_STARTED' ? first.attributes.input[0] : undefined;
  }

  async history(
    selector: RunSelector,
    options: { afterEventId: number; limit: number; waitMs?: number; abort?: AbortSignal },
  ): Promise<HistoryPage> {
    this.#requireRunning();
    const { afterEventId, limit, waitMs = 0, abort } = options;
    const until = this.#clock.now() + waitMs;
    const pinned = { workflowId: selector.workflowId, runId: this.#runs.selectRow(selector).run_id };
    for (;;) {
      const row = this.#runs.selectRow(pinned);
      const events = this.#tables.readEvents(row.key, afterEventId, limit);
      const isClosed = row.closed_at !== null;
      const page = (ended: boolean): HistoryPage => ({ runId: row.run_id, events, ended });
      if (events.length > 0) {
        return page(isClosed && events.at(-1)!.id === this.#tables.historyLength(row.key));
      }
      if (isClosed) return page(true);
      if (!(await this.#forEvents.wait(row.run_id, until - this.#clock.now(), abort))) return page(false);
      this.#requireRunning();
    }
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
    this.#lifecycle.signal(run, { signalName: name, input });
    return this.#durable({ workflowId, runId });
  }

  async query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    this.#requireRunning();
    return this.#messages.query(this.#runs.select(selector), name, input);
  }

  async update(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    return this.#messages.update(this.#openRun(selector, `update "${name}"`), name, input);
  }

  async cancel(selector: RunSelector): Promise<RunRef> {
    const run = this.#openRun(selector, 'the request to stop');
    this.#lifecycle.cancel(run, 'requested by a caller');
    return this.#durable({ workflowId: run.state.workflowId, runId: run.state.runId });
  }

  async terminate(selector: RunSelector, reason: string): Promise<RunRef> {
    const run = this.#openRun(selector, 'the request to terminate');
    this.#lifecycle.endFromOutside(run, { type: 'WORKFLOW_EXECUTION_TERMINATED', attributes: { reason } });
    return this.#durable({ workflowId: run.state.workflowId, runId: run.state.runId });
  }

  async reset(
    selector: RunSelector,
    point: { stepName: string; occurrence?: number; reason?: string },
  ): Promise<RunRef> {
    this.#requireRunning();
    return this.#durable(resetRun(this.#machine, this.#lifecycle, this.#tables, selector, point));
  }

  /** @throws WorkflowNotFoundError, WorkflowAlreadyClosedError */
  #openRun(selector: RunSelector, what: string): ActiveRun {
    this.#requireRunning();
    const run = this.#runs.select(selector);
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

  async list(filter: RunFilter, { limit, cursor }: { limit: number; cursor?: string }): Promise<RunPage> {
    this.#requireRunning();
    const rows = this.#tables.listRuns(filter, decodeCursor(cursor), limit + 1);
    const runs = rows.slice(0, limit).map(summaryOf);
    const nextCursor = rows.length > limit ? encodeCursor(rows[limit - 1]!.key) : null;
    return { runs, nextCursor };
  }

  async catalog(name: string): Promise<Catalog | undefined> {
    this.#requireRunning();
    return this.#catalogs.get(name);
  }

  /** A consistent copy of the database, made while the engine goes on. */
  async backup(file: string): Promise<void> {
    this.#requireRunning();
    await this.#db.backup(file);
  }

  async close(): Promise<void> {
    if (!this.#db.open) return;
    this.#commit.flush();
    this.#stop(
      new PerdureError('EngineUnavailableError', 'the server is shutting down', { retryAfterSeconds: 1 }),
    );
    for (const worker of this.#workers) this.#dispatcher.remove(worker);
    this.#workers.clear();
    this.#db.close();
  }

  // ── TaskSource ───────────────────────────────────────────────────────────────────────────────────

  connect(send: (message: ToWorker) => void): WorkerSession {
    const worker = new WorkerConnection(send);
    this.#workers.add(worker);
    return {
      receive: (message) => {
        if (!this.#stopped && worker.isConnected) this.#receive(worker, message);
      },
      disconnected: () => {
        if (!this.#workers.delete(worker)) return;
        this.#dispatcher.remove(worker);
        if (this.#stopped) return;
        this.#turns.workerLost(worker);
        this.#steps.workerLost(worker);
      },
    };
  }

  #receive(worker: WorkerConnection, message: FromWorker): void {
    switch (message.kind) {
      case 'register':
        worker.identity = message.identity;
        worker.format = message.resultFormat;
        worker.slots = message.slots;
        this.#catalogs.register(message.catalog, message.workflows);
        this.#dispatcher.register(worker, message.catalog);
        this.#deployed(message.catalog, message.codeId);
        return;
      case 'turnCompleted':
        this.#turns.completed(worker, message);
        return;
      case 'turnMissed':
        this.#turns.missed(worker, message.turnId, message.runId);
        return;
      case 'turnFailed':
        this.#turns.failed(worker, message);
        return;
      case 'stepCompleted':
        this.#steps.completed(worker, message, message.result);
        return;
      case 'stepFailed':
        this.#steps.failed(worker, message, message.failure);
        return;
      case 'stepCancelled':
        this.#steps.cancelled(worker, message, message.details);
        return;
      case 'stepHeartbeat':
        this.#steps.heartbeat(worker, message, message.details);
        return;
      case 'evicted':
        for (const runId of message.runIds) {
          if (this.#dispatcher.cachedBy(runId) === worker) this.#dispatcher.forget(runId, false);
        }
        return;
      case 'draining':
        worker.isDraining = true;
        return;
      default:
        unreachable(message);
    }
  }

  /** New code may fit what the old did not; the same code again, from a worker that was replaced, does not. */
  #deployed(catalog: string, codeId: string): void {
    if (this.#codeIds.get(catalog) === codeId) return;
    this.#codeIds.set(catalog, codeId);
    for (const runId of this.#tables.heldBackRuns(catalog)) {
      const run = this.#runs.get(runId);
      if (run) this.#turns.retryHeldBack(run);
    }
  }
}

function summaryOf(row: RunRow): RunSummary {
  return {
    workflowId: row.workflow_id,
    runId: row.run_id,
    workflowType: row.workflow_type,
    catalog: row.catalog,
    status: row.status,
    startedAt: row.started_at,
    completedAt: row.closed_at,
  };
}

const encodeCursor = (key: number): string => Buffer.from(`runs:${key}`).toString('base64url');

function decodeCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  const match = /^runs:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!match || encodeCursor(Number(match[1])) !== cursor) {
    throw new PerdureError('ValidationError', 'Invalid Payload', {
      issues: [{ path: ['cursor'], message: 'not a cursor that this server gave', code: 'invalid_cursor' }],
    });
  }
  return Number(match[1]);
}
