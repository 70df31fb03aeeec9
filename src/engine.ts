/**
 * The two ports.
 *
 * `Engine` is what the HTTP API needs; `TaskSource` is what a worker needs. The embedded engine implements both;
 * Temporal feeds its own workers, so its adapter implements only `Engine`. Methods are intents, each one atomic
 * transition: it happened as a whole and is on disk when the promise resolves, or it did not happen. All of them
 * throw `PerdureError` for what the caller can act on, by the names given, and `EngineUnavailableError` when the
 * engine cannot be reached or is shutting down. An engine with a disk of its own also throws `DataCorruptionError` for a
 * run of which what is stored is damaged, and `StorageFullError` for starts, messages and resets while there is no space.
 */

import type { Readable } from 'node:stream';
import type { Abort } from './core/abort.js';
import type { Catalog } from './core/catalog.js';
import type { Budget, BudgetState } from './core/cost/budget.js';
import type { Cost } from './core/cost/cost.js';
import type { CostScope, RunCosts } from './core/cost/sums.js';
import type { HistoryEvent } from './core/history/event.js';
import type { Failure } from './core/history/failure.js';
import type { Paused, PausedBy } from './core/run/pause.js';
import type { ClosedStatus, ResultFormat, RunStatus } from './core/run/run.js';
import type { CodeVersion } from './core/run/version.js';
import type { Why } from './core/run/why.js';
import type { FromWorker, ToWorker } from './core/task.js';
import type { TraceContext } from './core/trace-context.js';
import type { Payload } from './core/values/json.js';

export interface StartRequest {
  workflowType: string;
  catalog: string;
  input: Payload[];
  /** Generated when absent. */
  workflowId?: string;
  /** The caller goes on to wait for the outcome: the start is on disk before anything of the run is seen, not before this resolves. */
  isAwaited?: boolean;
  idempotency?: { key: string /** Of the body the key stands for. */; fingerprint: string };
  /** Of the caller; kept with the run. */
  traceContext?: TraceContext;
  /** What the chain that begins here and its descendants may spend. */
  budget?: Budget;
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
  /** Why the run does not go on although it could: no connected code can make its next turn, most often since it no longer fits its history. */
  heldBack?: { reason: string; since: number };
  /** While nothing new of it is started. */
  paused?: Paused;
}

export interface RunDescription extends RunSummary {
  historyLength: number;
  /** The input of this run, as it was given. */
  input: Payload | undefined;
  /** The first run of the chain that this run belongs to, over continue-as-new, retry and reset. */
  firstRunId: string;
  /** Of the code that made its last turn; absent before the first. */
  version?: CodeVersion;
}

/** A worker as the engine knows it; null where it does not. */
export interface WorkerDescription {
  id: string;
  catalog: string;
  host: string | null;
  pid: number | null;
  connectedAt: number | null;
  lastSeenAt: number;
  workflows: string[] | null;
  turns: SlotsInUse | null;
  steps: SlotsInUse | null;
  version: CodeVersion | null;
  /** Whether it takes tasks, stands by for when another one is lost, takes no more, or says nothing. */
  state: 'working' | 'standingBy' | 'draining' | 'blocked' | null;
}

export interface SlotsInUse {
  running: number;
  slots: number;
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
  abort?: Abort;
}

export interface HistoryOptions {
  afterEventId: number;
  limit: number;
  /** About how much is read at a time; an engine may then give fewer events than there are, and says so. */
  maxBytes?: number;
  waitMs?: number;
  abort?: Abort;
}

export interface HistoryPage {
  runId: string;
  events: HistoryEvent[];
  /** Whether the run is closed and `events` reaches its last event. */
  ended: boolean;
  /** There are more events, within the limit, than would have been read at a time. */
  isCut?: boolean;
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
  /** Only those that are held back. */
  heldBack?: true;
  /** Only those that are paused. */
  paused?: true;
}

export interface RunPage {
  runs: RunSummary[];
  /** Opaque; null at the end. */
  nextCursor: string | null;
}

/** A copy that was made, for whoever asked for it to read once or to discard. */
export interface Backup {
  bytes: number;
  read(): Readable;
  discard(): Promise<void>;
}

export interface SignalOptions {
  /** A signal that a run has received under the same one is not recorded again. */
  requestId?: string;
  traceContext?: TraceContext;
  /** Only this run can do anything with it, or one that a reset has made of it; the next of a chain is another. */
  madeFor?: string;
}

/** A run that was asked to stop, and what it was at that moment. */
export interface StoppedRun extends RunRef {
  status: RunStatus;
}

export interface PauseRequest {
  reason?: string;
  by: PausedBy;
}

/** Where a new run takes its history from: all up to the completion of a step, or nothing of it. */
export type ResetPoint = { reason?: string } & (
  | { stepName: string; occurrence?: number; toStart?: undefined }
  | { toStart: true; stepName?: undefined; occurrence?: undefined }
);

/** What has been spent, and what may be. */
export interface CostReport extends RunRef {
  /** Of the tree that the run belongs to; null where it has none. */
  budget: BudgetState | null;
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

  /**
   * Without `withInput` an engine may leave out the input, where that would have to be fetched for nothing.
   * @throws WorkflowNotFoundError
   */
  describe(selector: RunSelector, options?: { withInput?: boolean }): Promise<RunDescription>;

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
   * @throws WorkflowNotFoundError
   * @throws WorkflowAlreadyClosedError the latest run has closed, or the one that the signal was made for
   * @throws HandlerNotFoundError the definition declares its signals and not this one
   * @throws TooManyRequestsError the run has received all the signals it may
   */
  signal(selector: RunSelector, name: string, input: Payload[], options?: SignalOptions): Promise<RunRef>;

  /**
   * What tokens of callbacks are signed with: the same for all servers and workers of an engine, and kept over restarts.
   * Undefined as long as nobody could have made one.
   */
  callbackKey(): Promise<string | undefined>;

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
  update(
    selector: RunSelector,
    name: string,
    input: Payload[],
    traceContext?: TraceContext,
  ): Promise<Payload | undefined>;

  /** Asks the run to stop; its cleanup runs. A repeat changes nothing, nor does it if the run is closed. @throws WorkflowNotFoundError */
  cancel(selector: RunSelector): Promise<StoppedRun>;

  /**
   * From now on nothing new of the run is started: attempts of steps that are under way end and are recorded, timers and
   * messages are taken and wait, its code does not go on. A repeat changes nothing. A request to stop ends the pause.
   * @throws WorkflowNotFoundError
   * @throws WorkflowAlreadyClosedError it is closed, or was asked to stop and is closing
   */
  pause(selector: RunSelector, request: PauseRequest): Promise<RunRef>;

  /**
   * What has come meanwhile is delivered in the order of the history, and the run goes on. Changes nothing if it is not
   * paused or, with `onlyBy`, is paused by somebody else.
   * @throws WorkflowNotFoundError, WorkflowAlreadyClosedError
   */
  resume(selector: RunSelector, options?: { onlyBy?: PausedBy }): Promise<RunRef>;

  /** Why the run is where it is; there is always a reason. @throws WorkflowNotFoundError */
  why(selector: RunSelector): Promise<Why>;

  /** Closes the run at once, in one commit with everything it had pending. @throws WorkflowNotFoundError, WorkflowAlreadyClosedError */
  terminate(selector: RunSelector, reason: string): Promise<RunRef>;

  /**
   * Starts a new run that has the history up to the point, and terminates the run if it is open.
   * The old history stays as it is. Signals after that point are delivered to the new run again.
   * @throws WorkflowNotFoundError, StepNotFoundError, StepNotCompletedError
   */
  reset(selector: RunSelector, point: ResetPoint): Promise<RunRef>;

  /**
   * Hands over what the run has spent so far, or all runs that belong to it, as far as they are retained: one run after
   * the other, each once, since nobody could hold those of a large tree. What was taken over by a reset counts for the
   * run alone.
   * @throws WorkflowNotFoundError
   */
  cost(selector: RunSelector, scope: CostScope, take: (run: RunCosts) => void): Promise<CostReport>;

  /**
   * Changes what the run's tree may spend. Where it now suffices, all runs of the tree that wait for it go on.
   * @throws WorkflowNotFoundError, WorkflowAlreadyClosedError
   * @throws ValidationError the run has no budget
   */
  setBudget(selector: RunSelector, amount: string): Promise<RunRef & { budget: BudgetState }>;

  /** Newest first. @throws ValidationError for a cursor that is not one of this engine's */
  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage>;

  /** Remembers where the trace of a closed run was saved; a repeat adds to what is known. @throws WorkflowNotFoundError */
  recordTrace(run: RunRef, trace: TraceInfo): Promise<void>;

  /**
   * A consistent copy of everything, as of some moment during the call.
   * @throws NotSupportedByEngineError, StorageFullError
   * @throws TooManyRequestsError another one is being made
   */
  backup(): Promise<Backup>;

  /**
   * The union of what its connected workers have, where the newest code wins; what the last ones had while none is
   * connected. Undefined when nobody ever registered it. As it was at `since` will do, by `performance.now()`; it is the same
   * object as long as nothing changes.
   */
  catalog(name: string, since?: number): Promise<Catalog | undefined>;

  /** Those that were ever registered, whether a worker of theirs is connected or not. */
  catalogNames(): Promise<string[]>;

  /** Those that are connected, by catalog. */
  workers(): Promise<WorkerDescription[]>;

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
  turnEnded?(turn: TurnEnded): void;
  attemptEnded?(attempt: AttemptEnded): void;
  /** What steps of runs of this type have spent. Told after the commit that holds it. */
  spent?(workflowType: string, costs: readonly Cost[]): void;
  /** Told after the commit that holds it. */
  attemptFailed?(attempt: FailedAttempt): void;
  /** Told after the commit that holds it. Runs that somebody has ended did not fail. */
  runFailed?(run: FailedRun): void;
  committed?(runs: number, durationMs: number): void;
}

/** A run, and the trace of the call that began it, if that had one. */
export interface TracedRun extends RunRef {
  traceContext?: TraceContext;
}

export interface TurnEnded {
  workflowType: string;
  /** From handing the turn out to its answer. */
  durationMs: number;
  run: TracedRun;
  /** Of the callers whose messages the turn has taken. */
  causes: readonly TraceContext[];
}

export type AttemptOutcome = 'completed' | 'failed' | 'cancelled' | 'timedOut' | 'lost';

export interface AttemptEnded {
  workflowType: string;
  stepName: string;
  attempt: number;
  outcome: AttemptOutcome;
  /** The name of what it failed with. */
  errorType?: string;
  /** From the start of the attempt to its answer. */
  durationMs: number;
  run: TracedRun;
  /** Its worker has told of it to OpenTelemetry. */
  hasSpan: boolean;
}

export interface FailedAttempt extends RunRef {
  workflowType: string;
  stepName: string;
  attempt: number;
  /** 0 means no limit. */
  maximumAttempts: number;
  /** Null when it was the last one. */
  nextAttemptAt: number | null;
  failure: Failure;
}

export interface FailedRun extends RunRef {
  workflowType: string;
  status: 'failed' | 'timed_out';
  failure: Failure;
  /** The run that follows under the workflow's retry policy. */
  newRunId?: string;
}

/** How much is under way at this moment. */
export interface EngineLoad {
  workers: number;
  turnsQueued: number;
  stepsQueued: number;
  turnsUnderWay: number;
  stepsUnderWay: number;
  runsInMemory: number;
  /** Runs that are set apart because what is stored of them is damaged, as far as that has been noticed. */
  runsDamaged: number;
  /** Open runs whose next turn no connected code can make. */
  runsHeldBack: number;
}

/** One connected worker, as the engine sees it. */
export interface WorkerSession {
  receive(message: FromWorker): void;
  /** The connection shows that the worker's process is there, although the worker itself has said nothing. */
  seen?(): void;
  /** The connection is gone; what was under way there is given to others. */
  disconnected(): void;
}

export interface TaskSource {
  /**
   * `send` may be called at any time, many times in a row; the link packs what comes together into one frame. `drop` ends
   * the connection of a worker that is given up, so that it has to begin anew. `flush` has what was sent leave now: the
   * worker can begin with it while the engine is busy, and nothing that follows would share its frame.
   */
  connect(
    send: (message: ToWorker) => void,
    drop?: (reason: string) => void,
    flush?: () => void,
  ): WorkerSession;
}
