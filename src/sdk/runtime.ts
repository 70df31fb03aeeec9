/**
 * The seam between the SDK and an engine's sandbox.
 *
 * Owns what workflow code may ask of the engine below it, in the engine-neutral words of the SDK. Does not know events,
 * commands or replay: the embedded sandbox fills it with its own turn, Temporal's sandbox with @temporalio/workflow.
 *
 * 1. Exactly one runtime is current while code of a run executes, and none otherwise.
 * 2. Operations take a `Settle`, which is called at most once, and answer with a `Cancel`. Whether cancelling settles
 *    the operation at once is the runtime's business; cancelling what is settled changes nothing.
 * 3. Values cross as values; the runtime encodes them and throws `PayloadError` for what JSON cannot carry.
 */
import type { CancellationType, StepSettings } from '../core/history/event.js';
import { type CancelledError, UsageError } from './errors.js';
import type { Schema } from './schema.js';

export interface WorkflowInfo {
  readonly workflowId: string;
  readonly runId: string;
  readonly workflowType: string;
  readonly catalog: string;
  readonly startedAt: Date;
  /** Of the whole workflow, counted from 1. */
  readonly attempt: number;
  readonly historyLength: number;
  readonly parent?: { readonly workflowId: string; readonly runId: string };
}

export interface Settle<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}
/** Says why, for operations that settle at once when they are cancelled. */
export type Cancel = (cancellation: CancelledError) => void;

export interface StepRequest {
  name: string;
  input: unknown;
  settings: StepSettings;
  cancellationType: CancellationType;
}

export interface ChildRequest {
  workflowType: string;
  /** The runtime makes one up when absent. */
  workflowId?: string;
  catalog?: string;
  input: unknown;
  /** The child outlives its parent and is not cancelled with it. */
  detached: boolean;
}

export type MessageKind = 'signal' | 'query' | 'update';
export type Handler = (...args: never[]) => unknown;
export interface HandlerOptions {
  validator?: (...args: never[]) => void;
  description?: string;
  /** Of the message's own definition; what the workflow declares holds as well. */
  inputSchema?: Schema;
  outputSchema?: Schema;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A cancellation scope. Only scope.ts, which makes them, looks inside. */
export type Scope = object;

/** What carries the current scope over awaits: an AsyncLocalStorage, or something that behaves like one. */
export interface ScopeStorage {
  getStore(): Scope | undefined;
  run<T>(scope: Scope, fn: () => T): T;
}

export interface WorkflowRuntime {
  /** @throws UsageError where code can only read, such as in a query; `what` names what it tried. */
  assertMayAct(what: string): void;
  info(): WorkflowInfo;
  isContinueAsNewSuggested(): boolean;
  /** Epoch milliseconds; stands still within a turn. */
  now(): number;
  /** Like Math.random, from the run's own sequence. */
  random(): number;
  /** The settings that this workflow gives to all its steps. */
  readonly stepDefaults: StepDefaults;
  readonly rootScope: Scope;
  readonly scopes: ScopeStorage;

  scheduleStep(request: StepRequest, settle: Settle<unknown>): Cancel;
  startTimer(durationMs: number, settle: Settle<void>): Cancel;
  startChild(request: ChildRequest, settle: Settle<unknown>): Cancel;
  signalExternal(workflowId: string, name: string, args: unknown[], settle: Settle<void>): Cancel;
  cancelExternal(workflowId: string, settle: Settle<void>): void;
  /** Resolves once `predicate` holds; it is asked again whenever something happened. */
  whenTrue(predicate: () => boolean, settle: Settle<void>): Cancel;

  /** No handler removes the one that is there. */
  setHandler(kind: MessageKind, name: string, handler: Handler | undefined, options: HandlerOptions): void;
  /** Whether no signal or update handler is under way. */
  allHandlersFinished(): boolean;

  /** Another one each time and the same at a replay, without drawing on `random`. */
  newCallbackId(): string;
  /**
   * Where outsiders post for the callback. `isChecked`: not everything that may be posted counts. `isOwnId`: the author's,
   * so that the next run of the chain may make the same one again.
   */
  callbackUrl(callbackId: string, traits: { isChecked: boolean; isOwnId: boolean }): string;

  patched(patchId: string, deprecated: boolean): boolean;
  log(level: LogLevel, message: string, fields: object): void;
}

/** A step's settings before the defaults are filled in. */
export type StepDefaults = Partial<Omit<StepSettings, 'retry'>> & {
  retry?: Partial<StepSettings['retry']>;
  cancellationType?: CancellationType;
};

let current: WorkflowRuntime | undefined;

/** Makes `runtime` the current one and answers with the one before, for the engine's sandbox to restore. */
export function setRuntime(runtime: WorkflowRuntime | undefined): WorkflowRuntime | undefined {
  const previous = current;
  current = runtime;
  return previous;
}

export function hasRuntime(): boolean {
  return current !== undefined;
}

/** `what` names the caller in the error, such as `sleep()`. */
export function currentRuntime(what: string): WorkflowRuntime {
  if (current) return current;
  throw new UsageError(
    `${what} can only be used inside a workflow's fn: not in a step, not while a file is being loaded, and not in plain code. Tests run workflows by createTestEnvironment() of "perdure/testing"`,
  );
}
