/**
 * What `perdure/testing` gives, as types. They stand apart from what implements them, so that a project needs none of the
 * types that the engine itself is made with.
 */
import type { AnyWorkflow, InputThen, Json, MessageName, PayloadOf, ReplyOf } from '../client/types.js';
import type { BudgetState } from '../core/cost/budget.js';
import type { CostRecord } from '../core/cost/cost.js';
import type { CostScope, StepSum, Total } from '../core/cost/sums.js';
import type { WireEvent } from '../core/history/wire-event.js';
import type { Log } from '../core/log.js';
import type { ReplayResult } from '../core/replay-result.js';
import type { PausedBy } from '../core/run/pause.js';
import type { RunStatus } from '../core/run/run.js';
import type { Why } from '../core/run/why.js';
import type { Duration } from '../core/values/duration.js';
import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '../sdk/messages.js';

export type { AnyWorkflow } from '../client/types.js';

// biome-ignore lint/suspicious/noExplicitAny: a step of any input is one
export type AnyStep = (...args: any[]) => Promise<any>;

/** A step as a test names it: what `step({…})` gave, its name, or `workflow#step` where several workflows have that name. */
export type StepLike = string | AnyStep;

/** A function like the step's own. */
export type MockOf<S extends AnyStep> = (
  input: Parameters<S>[0],
) => Awaited<ReturnType<S>> | Promise<Awaited<ReturnType<S>>>;

export type OutputOf<W extends AnyWorkflow> = Json<Awaited<ReturnType<W>>>;

/** One attempt of a step. */
export interface StepCall {
  /** What the workflow passed. */
  input: unknown;
  /** Counted from 1. */
  attempt: number;
}

export interface TestEnvironmentOptions {
  /** The folder of the workflows, as `perdure dev` takes it. */
  workflows: string;
  /** Every turn is made from the start of the history, so that code which is not deterministic shows at once. */
  replayEveryTurn?: boolean;
  /** What the clock shows at the beginning; the time of day when absent. */
  startTime?: Date | number | string;
  /** Decides the ids that are made up; the same seed makes the same ones. */
  seed?: number;
  /**
   * How files are imported: `(path) => import(path)` in a test file, where its runner is to import them. Needed only where
   * the modules of steps must not be evaluated but as the runner makes them, such as with mocked modules. Each function that
   * is given loads the folder once: environments that share one share what it has loaded.
   */
  import?: (path: string) => Promise<Record<string, unknown>>;
  /** Where `log` of workflows and steps goes. Warnings and errors go to the console when absent, the rest nowhere. */
  log?: Partial<Log>;
}

export interface StartOptions {
  /** Generated when absent. */
  workflowId?: string;
  /** What the run, its chain and its descendants may spend; as much as they like when absent. */
  budget?: { amount: number | string; currency: string };
}

export interface CostOptions {
  /** Of this run alone, of all runs that belong together, or of those and all that descend from them. */
  scope?: CostScope;
}

/** As `GET /workflow/{id}/runs/{rid}/cost` answers it, with all records. */
export interface Costs {
  totals: Total[];
  usage: Record<string, number>;
  bySteps: StepSum[];
  records: (Omit<CostRecord, 'at'> & { at: string; workflowId: string; runId: string })[];
  budget: BudgetState | null;
}

export interface FeedbackOptions {
  /** The callback that it is for; the oldest that waits when absent. */
  callbackId?: string;
}

export interface PauseOptions {
  /** For whoever finds the run paused. */
  reason?: string;
}

/** Where the new run goes on: after a step that has completed, or at the very beginning. */
export type ResetPoint = { reason?: string } & (
  | {
      stepName: string;
      /** Which execution of the step, from 1; the last completed one when absent. */
      occurrence?: number;
      toStart?: undefined;
    }
  | {
      /** With the same input. */
      toStart: true;
      stepName?: undefined;
      occurrence?: undefined;
    }
);

export interface AdvanceOptions {
  /** Time moves although steps are running, so that their timeouts are due as well. */
  pastRunningSteps?: boolean;
}

export interface ReplayOptions {
  /** How long the code may run for the history, in real time; 4 seconds when absent. */
  within?: Duration;
}

export interface TestEnvironment {
  /**
   * Starts a workflow: what `workflow({…})` gave, or its name or an alias. Resolves when what follows at this instant has
   * happened, except for steps that are still running.
   * @throws ValidationError when the input does not fit; nothing was started then
   * @throws WorkflowAlreadyExistsError
   */
  start<W extends AnyWorkflow>(
    workflow: W,
    ...args: InputThen<Parameters<W>[0], StartOptions>
  ): Promise<TestRun<W>>;
  start(name: string, input?: unknown, options?: StartOptions): Promise<TestRun>;

  /** Starts a workflow and gives its result; time jumps over whatever it waits for. @throws as `start` and `result` */
  run<W extends AnyWorkflow>(
    workflow: W,
    ...args: InputThen<Parameters<W>[0], StartOptions>
  ): Promise<OutputOf<W>>;
  run<Output = unknown>(name: string, input?: unknown, options?: StartOptions): Promise<Output>;

  /** From now on this function is called in place of the step's own; its schemas, timeouts and retries stay. */
  mock<S extends AnyStep>(step: S, fn: MockOf<S>): void;
  // biome-ignore lint/suspicious/noExplicitAny: a name says nothing of the types
  mock(name: string, fn: (input: any) => unknown): void;

  /** The step runs for real again; without one, all steps do. */
  unmock(step?: StepLike): void;

  /**
   * Time passes: everything that is due until then happens, in order, with all that follows from it. It waits for steps
   * that are running before it moves the clock, unless the code of a step calls it.
   */
  advance(duration: Duration, options?: AdvanceOptions): Promise<void>;

  /** What the clock shows. */
  now(): Date;

  /** Posts to the address that `createCallback` gave to a workflow, as an outside party would. @throws UsageError */
  callback(url: string, payload?: unknown): Promise<void>;

  /** A workflow that is there; with a run, that run alone. @throws WorkflowNotFoundError */
  handle<W extends AnyWorkflow = AnyWorkflow>(workflowId: string, runId?: string): TestRun<W>;

  /**
   * Whether the code that is here still fits a history as the API gives it, with payloads: a page that has all of it,
   * several pages in a list, or its events. Code that loops without end does not fit. @throws HistoryFormatError
   */
  replay(history: unknown, options?: ReplayOptions): Promise<ReplayResult>;

  /** Ends it. Steps that are still running are aborted. */
  close(): Promise<void>;
}

/** As `GET /workflow/{id}/runs/{rid}/status` answers it. */
export interface StatusRecord {
  workflowId: string;
  runId: string;
  workflowType: string;
  catalog: string;
  status: RunStatus;
  /** Epoch milliseconds, by the clock of the test. */
  startedAt: number;
  completedAt: number | null;
  historyLength: number;
  heldBack?: { reason: string; since: string };
  paused?: { reason: string; since: string; by: PausedBy };
}

/**
 * Speaks to the latest run of its id, over continue-as-new, retry and reset, as a handle of the client does. One that
 * `env.handle(workflowId, runId)` gave speaks to that run alone, but for its messages, which always go to the latest, and
 * its result.
 */
export interface TestRun<W extends AnyWorkflow = AnyWorkflow> {
  readonly workflowId: string;
  /** The run that was started, or that was the latest when the handle was made; `status()` says which one is it now. */
  readonly runId: string;

  /**
   * What the workflow returned, over continue-as-new and retry. Time jumps over whatever it waits for.
   * @throws WorkflowFailedError
   * @throws WorkflowStuckError when it waits for a message that nobody has sent, or when its code does not fit its history
   */
  result(): Promise<OutputOf<W>>;

  status(): Promise<StatusRecord>;

  /** Resolves when what follows at this instant has happened, except for steps that are still running. */
  signal<Args extends unknown[]>(signal: SignalDefinition<Args>, ...args: NoInfer<Args>): Promise<void>;
  signal<Name extends MessageName<W, 'signals'>>(
    name: Name,
    ...payload: InputThen<PayloadOf<W, 'signals', Name>, never>
  ): Promise<void>;

  query<Ret, Args extends unknown[]>(query: QueryDefinition<Ret, Args>, ...args: NoInfer<Args>): Promise<Ret>;
  query<Name extends MessageName<W, 'queries'>>(
    name: Name,
    ...payload: InputThen<PayloadOf<W, 'queries', Name>, never>
  ): Promise<ReplyOf<W, 'queries', Name>>;

  /** Time jumps while the handler waits for something. */
  update<Ret, Args extends unknown[]>(
    update: UpdateDefinition<Ret, Args>,
    ...args: NoInfer<Args>
  ): Promise<Ret>;
  update<Name extends MessageName<W, 'updates'>>(
    name: Name,
    ...payload: InputThen<PayloadOf<W, 'updates', Name>, never>
  ): Promise<ReplyOf<W, 'updates', Name>>;

  /** Resumes a workflow that waits for a callback, as `POST /workflow/{id}/feedback` does. */
  feedback(payload?: unknown, options?: FeedbackOptions): Promise<void>;

  /** Asks the run to stop; its cleanup runs. Nothing changes when it is closed. */
  stop(): Promise<void>;

  /** Closes the run at once, without cleanup. */
  terminate(reason?: string): Promise<void>;

  /** Nothing new of the run is started until it is resumed. Nothing changes when it is paused. */
  pause(options?: PauseOptions): Promise<void>;

  /** Lets a paused run go on. */
  resume(): Promise<void>;

  /** A new run that goes on after a step, or at the beginning; an open run is terminated. */
  reset(point: ResetPoint): Promise<TestRun<W>>;

  /** The events, with payloads, as `GET /workflow/{id}/runs/{rid}/history?includePayloads=true` gives them. */
  history(): Promise<WireEvent[]>;

  /** Every attempt of the step so far, in all runs of this workflow id. */
  calls(step: StepLike): StepCall[];

  /** What it waits for, as `GET /workflow/{id}/runs/{rid}/why` answers it. */
  why(): Promise<Why>;

  /** What it has spent, with what steps under way have said. */
  cost(options?: CostOptions): Promise<Costs>;

  /** Changes the budget of the run's tree; what waits for it goes on where it now suffices. @throws as the API does */
  setBudget(amount: number | string): Promise<BudgetState>;
}

export interface CrashOptions {
  /** Decides the ids that are made up and which faults come together; 1 when absent. */
  seed?: number;
  /** Only this point, as a difference has named it. */
  point?: string;
}

export interface CrashReport {
  /** How often the program ran, the undisturbed run included. */
  trials: number;
  commits: number;
  steps: number;
}

export type CreateTestEnvironment = (options: TestEnvironmentOptions) => Promise<TestEnvironment>;

export type CrashEverywhere = <T>(
  env: TestEnvironment,
  program: (env: TestEnvironment) => Promise<T> | T,
  options?: CrashOptions,
) => Promise<CrashReport>;
