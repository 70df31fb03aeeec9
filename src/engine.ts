/**
 * The two ports.
 *
 * `Engine` is what the HTTP API needs; `TaskSource` is what a worker needs. The embedded engine implements both;
 * Temporal feeds its own workers, so its adapter implements only `Engine`. Methods are intents, each one atomic
 * transition: it happened as a whole and is on disk when the promise resolves, or it did not happen. All of them
 * throw `PerdureError` for what the caller can act on, by the names given, and `EngineUnavailableError` when the
 * engine cannot be reached or is shutting down.
 */
import type { Catalog } from './core/catalog.js';
import type { HistoryEvent } from './core/event.js';
import type { Failure } from './core/failure.js';
import type { Payload } from './core/json.js';
import type { ClosedStatus, ResultFormat, RunStatus } from './core/run.js';
import type { FromWorker, ToWorker } from './core/task.js';

export interface StartRequest {
  workflowType: string;
  catalog: string;
  input: Payload[];
  /** Generated when absent. */
  workflowId?: string;
  /** The caller goes on to wait for the outcome: the start is on disk before anything of the run is seen, not before this resolves. */
  isAwaited?: boolean;
  idempotency?: { key: string /** Of the body the key stands for. */; fingerprint: string };
}

export interface RunRef {
  workflowId: string;
  runId: string;
}

/** A run by its id, or the latest run of a workflow id. */
export interface RunSelector {
  workflowId: string;
  runId?: string;
}

export interface RunSummary extends RunRef {
  workflowType: string;
  catalog: string;
  status: RunStatus;
  startedAt: number;
  completedAt: number | null;
}

export interface RunDescription extends RunSummary {
  historyLength: number;
  /** The input of this run, as it was given. */
  input: Payload | undefined;
  /** The first run of the chain that this run belongs to, over continue-as-new, retry and reset. */
  firstRunId: string;
  /** Why the run does not go on although it could: its last turn failed, most often since its code no longer fits its history. */
  heldBack?: { reason: string; since: number };
}

/** Where the trace of a run has been saved. */
export interface TraceInfo {
  /** Absolute path of a file on the server's machine. */
  local?: string;
  /** URI in an object store. */
  remote?: string;
}

/** Which runs get a trace as soon as they have closed, and where it will be: before the run's id and `.json`. */
export interface TracePlan {
  runs: 'all' | 'failed';
  local: string;
  remote?: string;
}

export interface RunOutcome extends RunRef {
  status: ClosedStatus;
  /** What the chain was first started with. */
  input: Payload | undefined;
  output: Payload | undefined;
  failure: Failure | undefined;
  format: ResultFormat;
  trace: TraceInfo | null;
}

export interface OutcomeOptions {
  waitMs?: number;
  /** Go on with the run that a closed one continues as or is retried as; the default unless a run is pinned. */
  followChain?: boolean;
  abort?: AbortSignal;
}

export interface HistoryOptions {
  afterEventId: number;
  limit: number;
  waitMs?: number;
  abort?: AbortSignal;
}

export interface HistoryPage {
  runId: string;
  events: HistoryEvent[];
  /** Whether the run is closed and `events` reaches its last event. */
  ended: boolean;
  /** Steps that `events` refer to, by their scheduled events, where an engine knows them without another look. */
  steps?: ReadonlyMap<number, { activityType: string; stepName: string }>;
}

export interface RunFilter {
  workflowType?: string;
  catalog?: string;
  status?: RunStatus;
  workflowId?: string;
  workflowIdPrefix?: string;
  startedAfter?: number;
  startedBefore?: number;
}

export interface RunPage {
  runs: RunSummary[];
  /** Opaque; null at the end. */
  nextCursor: string | null;
}

export interface Engine {
  /** Rejects, saying why, while calls cannot be served. */
  ready(): Promise<void>;

  /**
   * The run's first event is on disk when this resolves (unless the start is awaited). A repeat with the same idempotency key and fingerprint
   * answers with the run it made, in whatever state that is.
   * @throws WorkflowAlreadyExistsError the id belongs to a run that is open or still retained
   * @throws IdempotencyConflictError the key stands for another body
   */
  start(request: StartRequest): Promise<RunRef>;

  /** @throws WorkflowNotFoundError */
  describe(selector: RunSelector): Promise<RunDescription>;

  /**
   * The outcome of the run; without a pinned run, of the last run of its chain (over continue-as-new and retry).
   * Waits up to `waitMs` for it and resolves to undefined if it is still open then. `abort` ends the wait early.
   * @throws WorkflowNotFoundError
   */
  outcome(selector: RunSelector, options?: OutcomeOptions): Promise<RunOutcome | undefined>;

  /**
   * Up to `limit` events after event `afterEventId`, oldest first. With `waitMs`, a caller that has caught up with an
   * open run waits that long for the next event.
   * @throws WorkflowNotFoundError
   */
  history(selector: RunSelector, options: HistoryOptions): Promise<HistoryPage>;

  /**
   * On disk when this resolves, and delivered exactly once, in order.
   * @throws WorkflowNotFoundError, WorkflowAlreadyClosedError
   * @throws HandlerNotFoundError the definition declares its signals and not this one
   * @throws TooManyRequestsError the run has received all the signals it may
   */
  signal(selector: RunSelector, name: string, input: Payload[]): Promise<RunRef>;

  /**
   * Sees every message accepted before it; changes nothing. Open and closed runs.
   * @throws WorkflowNotFoundError, HandlerNotFoundError, QueryFailedError
   */
  query(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined>;

  /**
   * Resolves when the handler has returned. Accepted updates are in the history; refused ones leave no trace.
   * @throws WorkflowNotFoundError, WorkflowAlreadyClosedError, HandlerNotFoundError
   * @throws UpdateRejectedError by the validator
   * @throws UpdateFailedError the handler threw, or the run closed before it returned
   * @throws TooManyRequestsError too many updates under way or in all
   */
  update(selector: RunSelector, name: string, input: Payload[]): Promise<Payload | undefined>;

  /** Asks the run to stop; its cleanup runs. A repeat while it is closing changes nothing. @throws WorkflowNotFoundError, WorkflowAlreadyClosedError */
  cancel(selector: RunSelector): Promise<RunRef>;

  /** Closes the run at once, in one commit with everything it had pending. @throws WorkflowNotFoundError, WorkflowAlreadyClosedError */
  terminate(selector: RunSelector, reason: string): Promise<RunRef>;

  /**
   * Starts a new run that has the history up to the completion of the step, and terminates the run if it is open.
   * The old history stays as it is. Signals after that point are delivered to the new run again.
   * @throws WorkflowNotFoundError, StepNotFoundError, StepNotCompletedError
   */
  reset(
    selector: RunSelector,
    point: { stepName: string; occurrence?: number; reason?: string },
  ): Promise<RunRef>;

  /** Newest first. @throws ValidationError for a cursor that is not one of this engine's */
  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage>;

  /** Remembers where the trace of a closed run was saved; a repeat adds to what is known. @throws WorkflowNotFoundError */
  recordTrace(run: RunRef, trace: TraceInfo): Promise<void>;

  /** Undefined when nobody ever registered it. */
  catalog(name: string): Promise<Catalog | undefined>;

  close(): Promise<void>;
}

/** What happens to runs, told after the commit that holds it. Listeners must not throw. */
export interface RunListener {
  closed?(run: RunSummary): void;
  /** Retention has removed the run and everything of it. */
  removed?(runId: string): void;
}

export interface RunWatch {
  /** Returns the function that ends it. */
  watch(listener: RunListener): () => void;
  /** Whether the run is open or still retained. */
  isRetained(runId: string): boolean;
}

/** Measurements of an engine at work, for whoever collects them. Called often: an observer must be cheap and must not throw. */
export interface EngineObserver {
  runStarted?(workflowType: string): void;
  runClosed?(workflowType: string, status: ClosedStatus): void;
  /** From handing the turn out to its answer. */
  turnEnded?(workflowType: string, durationMs: number, run: RunRef): void;
  /** From the start of the attempt to its answer. */
  attemptEnded?(
    stepType: string,
    outcome: 'completed' | 'failed' | 'cancelled' | 'timedOut' | 'lost',
    durationMs: number,
    run: RunRef,
  ): void;
  committed?(runs: number, durationMs: number): void;
}

/** How much is under way at this moment. */
export interface EngineLoad {
  workers: number;
  turnsQueued: number;
  stepsQueued: number;
  turnsUnderWay: number;
  stepsUnderWay: number;
  runsInMemory: number;
}

/** One connected worker, as the engine sees it. */
export interface WorkerSession {
  receive(message: FromWorker): void;
  /** The connection is gone; what was under way there is given to others. */
  disconnected(): void;
}

export interface TaskSource {
  /** `send` may be called at any time, many times in a row; the link packs what comes together into one frame. */
  connect(send: (message: ToWorker) => void): WorkerSession;
}
