/**
 * The embedded engine: one process, one SQLite file, all transitions in one thread.
 *
 * This file is the two ports, and what starts and stops; the rules are in the parts. Reads are answered from what is committed;
 * writes resolve when they are.
 */
import type { Catalog } from '../core/catalog.js';
import type { BudgetState } from '../core/cost/budget.js';
import type { CostScope, RunCosts } from '../core/cost/sums.js';
import { PerdureError } from '../core/errors.js';
import type { PausedBy } from '../core/run/pause.js';
import type { Why } from '../core/run/why.js';
import type { ToWorker } from '../core/task.js';
import type { TraceContext } from '../core/trace-context.js';
import type { Payload } from '../core/values/json.js';
import type {
  Backup,
  CostReport,
  Engine,
  EngineLoad,
  HistoryOptions,
  HistoryPage,
  OutcomeOptions,
  PauseRequest,
  ResetPoint,
  RunDescription,
  RunFilter,
  RunListener,
  RunOutcome,
  RunPage,
  RunRef,
  RunSelector,
  RunWatch,
  SignalOptions,
  StartRequest,
  StoppedRun,
  TaskSource,
  TraceInfo,
  WorkerDescription,
  WorkerSession,
} from '../engine.js';
import { handlersOf } from './calls/handlers.js';
import { whyOf } from './calls/why.js';
import type { EmbeddedEngineOptions } from './options.js';
import { makeParts, type Parts } from './parts.js';
import { explainOpening } from './store/folder/database.js';
import type { Store } from './store/store.js';

export type { EmbeddedEngineOptions } from './options.js';
export { DataFolderError } from './store/folder/data-folder-error.js';
export { InMemory } from './store/folder/memory-place.js';

export class EmbeddedEngine implements Engine, TaskSource, RunWatch {
  readonly #parts: Parts;

  /** @throws DataFolderError */
  static open(options: EmbeddedEngineOptions): EmbeddedEngine {
    let store: Store | undefined;
    let engine: EmbeddedEngine | undefined;
    try {
      engine = new EmbeddedEngine(options, (opened) => {
        store = opened;
      });
      engine.#begin();
      return engine;
    } catch (error) {
      // The disk has failed on the way: what was opened must not keep the folder from the next start.
      if (engine) engine.#stop(error as Error);
      store?.close();
      throw explainOpening(error, String(options.dataDir));
    }
  }

  private constructor(options: EmbeddedEngineOptions, onOpened: (store: Store) => void) {
    this.#parts = makeParts(options, onOpened, (error) => this.#failed(error, options.onFatal));
  }

  #begin(): void {
    const {
      kernel,
      outbox,
      closings,
      recovery,
      payments,
      waking,
      retention,
      guard,
      unattended,
      damage,
      sessions,
    } = this.#parts;
    kernel.commit.flush();
    outbox.start();
    closings.start();
    recovery.start();
    payments.start();
    waking.start();
    retention.start();
    if (guard.isStopped) return;
    unattended.start();
    kernel.dispatcher.start({
      stuck: (worker) => damage.contain(() => sessions.stuck(worker)),
      frozen: (worker) => damage.contain(() => sessions.frozen(worker)),
    });
  }

  #failed(error: Error, onFatal: EmbeddedEngineOptions['onFatal']): void {
    const { kernel, guard } = this.#parts;
    kernel.log.error({ err: error }, 'the storage failed: what became of it is unknown, so the engine stops');
    const reason = new PerdureError(
      'EngineUnavailableError',
      'the storage failed; the server has to be started again',
    );
    guard.failed(reason);
    this.#stop(reason);
    onFatal?.(error);
  }

  #stop(reason: Error): void {
    const { kernel, guard, waking, retention, recovery, piecemeal, unattended, sessions, messages, reading } =
      this.#parts;
    guard.stop(reason);
    waking.stop();
    retention.stop();
    recovery.stop();
    piecemeal.stop();
    unattended.stop();
    sessions.stop();
    kernel.dispatcher.stop();
    messages.stop();
    reading.stop(reason);
  }

  async close(): Promise<void> {
    const { store, kernel } = this.#parts;
    if (!store.isOpen) return;
    const reason = new PerdureError('EngineUnavailableError', 'the server is shutting down', {
      retryAfterSeconds: 1,
    });
    kernel.commit.stop(reason);
    this.#stop(reason);
    store.close();
  }

  // ── Engine: what changes runs ────────────────────────────────────────────────────────────────────

  start(request: StartRequest): Promise<RunRef> {
    const { guard, starting } = this.#parts;
    return guard.call(() => starting.start(request));
  }

  async signal(
    selector: RunSelector,
    name: string,
    input: Payload[],
    options: SignalOptions = {},
  ): Promise<RunRef> {
    const { guard, controlling } = this.#parts;
    return guard.call(() => controlling.signal(selector, name, input, options));
  }

  async query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined> {
    const { guard, kernel, messages } = this.#parts;
    return guard.call(() => {
      const run = kernel.runs.select(selector);
      return guard.sound(run, messages.query(run, name, input));
    });
  }

  async update(
    selector: RunSelector,
    name: string,
    input: Payload[],
    traceContext?: TraceContext,
  ): Promise<Payload | undefined> {
    const { guard, messages } = this.#parts;
    return guard.call(() => {
      guard.requireSpace();
      const run = guard.openRun(selector, `update "${name}"`);
      return guard.sound(run, messages.update(run, name, input, traceContext));
    });
  }

  async pause(selector: RunSelector, request: PauseRequest): Promise<RunRef> {
    const { guard, controlling } = this.#parts;
    return guard.call(() => controlling.pause(selector, request));
  }

  async resume(selector: RunSelector, { onlyBy }: { onlyBy?: PausedBy } = {}): Promise<RunRef> {
    const { guard, controlling } = this.#parts;
    return guard.call(() => controlling.resume(selector, onlyBy));
  }

  async cancel(selector: RunSelector): Promise<StoppedRun> {
    const { guard, controlling } = this.#parts;
    return guard.call(() => controlling.cancel(selector));
  }

  async terminate(selector: RunSelector, reason: string): Promise<RunRef> {
    const { guard, controlling } = this.#parts;
    return guard.call(() => controlling.terminate(selector, reason));
  }

  async reset(selector: RunSelector, point: ResetPoint): Promise<RunRef> {
    const { guard, kernel, reset, closings, outbox } = this.#parts;
    const { workflowId } = selector;
    return guard.call(async () => {
      guard.requireSpace();
      // It is to find others as the runs of the workflow have left them.
      while (closings.isEndingFor(workflowId) || outbox.isSendingFor(workflowId)) {
        await guard.durable(undefined);
        guard.requireSpace();
      }
      // It reads the history from one place, so what was decided so far has to be there.
      kernel.commit.flush(true);
      guard.requireWriting();
      return guard.durable(reset.reset(selector, point));
    });
  }

  async setBudget(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }> {
    const { guard, spending } = this.#parts;
    return guard.call(() => spending.setBudget(selector, amount));
  }

  async recordTrace(run: RunRef, trace: TraceInfo): Promise<void> {
    const { guard, kernel } = this.#parts;
    await guard.call(() => {
      const { key, trace: known } = kernel.runs.selectRow(run);
      const all = { ...(known === null ? {} : (JSON.parse(known) as TraceInfo)), ...trace };
      kernel.commit.write(() => kernel.tables.runs.saveTrace(key, all));
      return guard.durable(undefined);
    });
  }

  // ── Engine: what reads ───────────────────────────────────────────────────────────────────────────

  async ready(): Promise<void> {
    this.#parts.guard.requireSpace();
  }

  async describe(selector: RunSelector, options?: { withInput?: boolean }): Promise<RunDescription> {
    const { guard, reading } = this.#parts;
    return guard.read(() => reading.describe(selector, options));
  }

  outcome(selector: RunSelector, options: OutcomeOptions = {}): Promise<RunOutcome | undefined> {
    const { guard, kernel, reading } = this.#parts;
    return guard.read(async () => {
      try {
        return await reading.outcome(selector, options);
      } catch (error) {
        // A run that was started for a caller who waits may have found no space.
        const { runId } = selector;
        if (runId !== undefined && kernel.runs.inMemory(runId)?.isNew) guard.requireWriting();
        throw error;
      }
    });
  }

  /** Why the run is where it is. @throws WorkflowNotFoundError */
  async why(selector: RunSelector): Promise<Why> {
    const { guard, kernel, steps, catalogs, messages } = this.#parts;
    return guard.read(() => {
      // It tells of what is under way, so that has to be on disk.
      kernel.commit.flush(true);
      return whyOf(
        kernel,
        selector,
        (run, step) => steps.workerOf(run, step),
        (run) => handlersOf(run, kernel, catalogs, messages),
      );
    });
  }

  async cost(selector: RunSelector, scope: CostScope, take: (run: RunCosts) => void): Promise<CostReport> {
    const { guard, spending } = this.#parts;
    return guard.read(() => spending.cost(selector, scope, take));
  }

  async history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage> {
    const { guard, reading } = this.#parts;
    return guard.read(() => reading.history(selector, options));
  }

  async list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage> {
    const { guard, reading } = this.#parts;
    return guard.read(() => reading.list(filter, page));
  }

  async callbackKey(): Promise<string | undefined> {
    return this.#running.callbackKey.known;
  }

  async catalog(name: string): Promise<Catalog | undefined> {
    return this.#running.catalogs.get(name);
  }

  async catalogNames(): Promise<string[]> {
    return [...this.#running.catalogs.names].sort();
  }

  async workers(): Promise<WorkerDescription[]> {
    return this.#running.sessions.describe();
  }

  load(): EngineLoad {
    const { sessions, kernel, store } = this.#parts;
    return {
      ...sessions.load(),
      ...kernel.dispatcher.queued(),
      runsInMemory: kernel.runs.size,
      runsDamaged: kernel.runs.damagedCount,
      runsHeldBack: store.isOpen ? kernel.tables.runs.heldBackCount() : 0,
    };
  }

  async backup(): Promise<Backup> {
    const { store } = this.#running;
    try {
      return await store.backup();
    } catch (error) {
      // It was stopped meanwhile, which is what the caller has to know.
      this.#parts.guard.requireRunning();
      throw error;
    }
  }

  /** A consistent copy of the database in that file, made while the engine goes on. */
  async backupTo(file: string): Promise<void> {
    await this.#running.store.copyTo(file);
  }

  /** Commits all that was decided so far, also what may wait for a moment: for tests, whose time does not pass by itself. */
  flush(): void {
    const { guard, kernel } = this.#parts;
    if (!guard.isStopped) kernel.commit.flush(true);
  }

  /** All that is committed at this moment, to be opened again by `InMemory`. */
  image(): Buffer {
    return this.#parts.store.image();
  }

  get #running(): Parts {
    this.#parts.guard.requireRunning();
    return this.#parts;
  }

  // ── RunWatch ─────────────────────────────────────────────────────────────────────────────────────

  watch(listener: RunListener): () => void {
    return this.#parts.kernel.listeners.add(listener);
  }

  /** The latest run of the workflow id, as far as it is on disk. */
  runIdOf(workflowId: string): string | undefined {
    return this.#running.kernel.runs.latestId(workflowId);
  }

  isRetained(runId: string): boolean {
    return this.#running.kernel.runs.isKept(runId);
  }

  // ── TaskSource ───────────────────────────────────────────────────────────────────────────────────

  connect(
    send: (message: ToWorker) => void,
    drop?: (reason: string) => void,
    flush?: () => void,
  ): WorkerSession {
    const { sessions, damage } = this.#parts;
    const session = sessions.connect(send, drop, flush);
    return {
      receive: (message) => damage.contain(() => session.receive(message)),
      seen: () => session.seen?.(),
      disconnected: () => damage.contain(() => session.disconnected()),
    };
  }
}
