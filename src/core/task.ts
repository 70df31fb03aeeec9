/**
 * What travels between the engine and a worker: the messages of the link, both ways. The engine produces and
 * consumes these values; the link only packs them into frames.
 *
 * 1. A worker answers each turn it was given at most once, with `turnCompleted` or `turnFailed`; the engine ignores
 *    an answer whose `turnId` is not the one under way for that run.
 * 2. A worker answers each step attempt at most once; the engine refuses an answer for an attempt that is not the
 *    current one, and says so to nobody: the outcome it has already recorded stands.
 * 3. When the connection is lost both sides forget what was under way: the engine gives the turns to another worker
 *    and treats the attempts as lost, the worker aborts its steps and drops its cache.
 * 4. What a worker will be told next of a run that waits for one step alone it can know before it is told. So the step
 *    may come with the number of the turn that follows, and a worker that has the run cached may begin that turn as
 *    soon as the result is on its way, and say so with it. The engine takes the turn for given at that moment, or, when
 *    something else came first, ignores its answer and has the worker forget the run.
 * 5. A worker whose user code keeps it from speaking has a witness: a thread of its process that speaks for it over a
 *    connection of its own. It says what blocks the worker, or what it is about to be ended for, so that what ran beside
 *    that is held against nobody. A worker that ends without such a word leaves only suspects.
 */
import type { RegisteredWorkflow } from './catalog.js';
import type { Cost } from './cost/cost.js';
import type { Command } from './history/command.js';
import type { HistoryEvent } from './history/event.js';
import type { Failure } from './history/failure.js';
import type { ResultFormat } from './run/run.js';
import type { TraceContext } from './trace-context.js';
import type { Payload } from './values/json.js';

export interface UpdateRequest {
  updateId: string;
  name: string;
  input: Payload[];
  /** Of its caller. */
  traceContext?: TraceContext;
}

export interface QueryRequest {
  queryId: number;
  name: string;
  input: Payload[];
}

export type QueryAnswer =
  | { queryId: number; kind: 'answered'; result?: Payload }
  | { queryId: number; kind: 'failed'; failure: Failure }
  | { queryId: number; kind: 'noHandler'; known: string[] };

/**
 * One turn of a run. The worker applies `events`, runs user code until nothing more can happen, and answers with the
 * commands that came out.
 */
export interface TurnTask {
  kind: 'turn';
  turnId: number;
  runId: string;
  workflowId: string;
  workflowType: string;
  catalog: string;
  /** What the clock of the workflow shows in this turn, epoch milliseconds. */
  startedAt: number;
  /** From the first event that the worker has not had yet (its number is `events[0].id`), or from event 1. */
  events: HistoryEvent[];
  /** Length of the history so far, and whether the author is told to continue as new. */
  historyLength: number;
  continueAsNewSuggested: boolean;
  updates: UpdateRequest[];
  queries: QueryRequest[];
  /** Only queries: no user code advances and no command is expected. Also how closed runs are queried. */
  readOnly: boolean;
}

export interface StepTask {
  kind: 'step';
  runId: string;
  workflowId: string;
  workflowType: string;
  stepName: string;
  scheduledEventId: number;
  attempt: number;
  input: Payload[];
  /** Milliseconds that this attempt may take. */
  timeoutMs: number;
  heartbeatTimeoutMs?: number;
  lastHeartbeat?: Payload;
  /** Stable over the attempts of one step, different for every other step. */
  idempotencyKey: string;
  /** The step has one attempt and no more, so losing this one fails it. */
  isOnlyAttempt?: boolean;
  /** Of the call that began the run. */
  traceContext?: TraceContext;
  /** The turn that follows if the step completes and nothing else happens to the run; see 4. */
  next?: NextTurn;
}

export interface NextTurn {
  turnId: number;
  activityId: string;
  /** By the engine's clock. */
  sentAt: number;
  continueAsNewSuggested: boolean;
}

export interface StepAttempt {
  runId: string;
  scheduledEventId: number;
  attempt: number;
}

export type StepStopReason = 'cancelled' | 'timedOut' | 'runClosed';

export type ToWorker =
  /** Before any task: what addresses of callbacks are made of. Without a public address it is the one that the worker dials. */
  | { kind: 'welcome'; callbackKey: string; publicUrl?: string }
  | TurnTask
  | StepTask
  /** The step's AbortSignal fires; its answer, if any, is awaited only when the reason is `cancelled`. */
  | ({ kind: 'stopStep'; reason: StepStopReason } & StepAttempt)
  /** To a witness: other steps wait for the worker that it speaks for, so what blocks that must not go on. */
  | { kind: 'othersWait' }
  /** Are you there? Answered with `pong` as soon as user code lets the worker. */
  | { kind: 'ping' }
  /** The run is closed, or its last turn was not accepted: its cached state is of no use any more. */
  | { kind: 'forget'; runId: string };

export interface WorkerSlots {
  turns: number;
  steps: number;
}

/** Workers that are kept running together. The engine decides which of them stand by. */
export interface WorkerPool {
  id: string;
  /** How many of them are meant to work at a time; the others stand by, and take what has to be tried alone. */
  size: number;
  /** How many stand by when all is well: when none does, one will soon. */
  spares: number;
}

/** What had the main thread of a worker: a turn, by its number, or an attempt of a step. */
export type Culprit = { turnId: number } | StepAttempt;

/** What is known of the end of a worker. */
export interface LastWords {
  /** Who is to blame. Undefined when it is one of the started steps, and nobody knows which. */
  culprit?: Culprit;
  /** Steps whose code has begun to run; the others may be given to another worker as if nothing had happened. */
  started: StepAttempt[];
  /** For people: why the worker ends. */
  reason: string;
}

/** Its code does something else than the history says, or cannot make the turn at all. */
export type TurnFailureCause = 'NON_DETERMINISTIC_ERROR' | 'WORKFLOW_WORKER_UNHANDLED_FAILURE';

/** What an attempt has said that it spent and that was not sent before; absent for nothing. */
interface WithCosts {
  costs?: Cost[];
}

export type FromWorker =
  | {
      kind: 'register';
      catalog: string;
      workflows: RegisteredWorkflow[];
      slots: WorkerSlots;
      resultFormat: ResultFormat;
      identity: string;
      /** The same for the same code: another one is a deployment, which gives held back runs another try. */
      codeId: string;
      /** What the operator calls that code. */
      versionName?: string;
      /** Where the worker runs. */
      host?: string;
      pid?: number;
      /** By which its witness speaks of this worker, and the workers that it belongs to. */
      workerId?: string;
      pool?: WorkerPool;
      /** It tells OpenTelemetry of the attempts that it makes. */
      makesSpans?: boolean;
    }
  | {
      kind: 'turnCompleted';
      turnId: number;
      runId: string;
      commands: Command[];
      answers: QueryAnswer[];
    }
  /** The run is not in this worker's cache and the task did not start at event 1: the engine sends it whole. */
  | { kind: 'turnMissed'; turnId: number; runId: string }
  | {
      kind: 'turnFailed';
      turnId: number;
      runId: string;
      cause: TurnFailureCause;
      failure: Failure;
    }
  /** With `begunAt` the turn that follows was begun, and this is what the clock of the workflow shows in it. */
  | ({ kind: 'stepCompleted'; result?: Payload; begunAt?: number } & StepAttempt & WithCosts)
  /**
   * With `retryAfterMs` the attempt itself says when the next one starts, in place of the policy's wait. `refusesInput`: the code
   * of the step has not begun, since the input does not fit its schema.
   */
  | ({ kind: 'stepFailed'; failure: Failure; retryAfterMs?: number; refusesInput?: true } & StepAttempt &
      WithCosts)
  /** The step ended by its cancellation. */
  | ({ kind: 'stepCancelled'; details?: Payload } & StepAttempt & WithCosts)
  | ({ kind: 'stepHeartbeat'; details?: Payload } & StepAttempt)
  /** What an attempt that goes on has spent since it last said so. */
  | ({ kind: 'stepCosts'; costs: Cost[] } & StepAttempt)
  /** Runs that left this worker's cache. */
  | { kind: 'evicted'; runIds: string[] }
  | { kind: 'pong' }
  /** By a witness: this turn, or one of these steps, lets nothing else run, and that is not over yet. */
  | { kind: 'blocked'; workerId: string; turnId?: number; started: StepAttempt[] }
  /** By a witness, or by the worker itself: it ends now. */
  | ({ kind: 'lastWords'; workerId: string } & LastWords)
  /** No more tasks, please: the worker ends once what it has is done. */
  | { kind: 'draining' };
