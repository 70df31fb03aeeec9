/**
 * What a step's code can ask about its own execution. The worker that runs steps provides it; workflow code has none.
 *
 * This file is part of the workflow sandbox as well, so it imports no node built-in: the worker registers how to find
 * the current context, and a plain test gets one that stands for "nobody in particular".
 */
import { type Cost, type CostInput, costOf, costProblem } from '../core/cost/cost.js';
import { UsageError } from './errors.js';
import { hasRuntime, type LogLevel } from './runtime.js';

export type Logger = Record<LogLevel, (message: string, fields?: object) => void>;

export interface StepContext {
  /** Aborts when the step is cancelled, times out, its run ends or the worker shuts down; the reason says which. */
  readonly signal: AbortSignal;
  /** Counted from 1. */
  readonly attempt: number;
  /** Says that the step is alive, and keeps `details` for the next attempt. */
  readonly heartbeat: (details?: unknown) => void;
  /** The details of the last heartbeat of the attempt before. */
  readonly lastHeartbeat: unknown;
  /** The same over all attempts of this step, and of no other: pass it on to make side effects happen once. */
  readonly idempotencyKey: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly stepName: string;
  readonly log: Logger;
  /**
   * Says what this attempt has spent; any number of times. It counts whatever becomes of the attempt.
   * @throws UsageError at once for a negative amount, more than 9 decimals or anything else that cannot be counted
   */
  readonly cost: (cost: CostInput) => void;
}

/** @throws UsageError */
export function checkedCost(given: CostInput): Cost {
  const problem = costProblem(given);
  if (problem !== undefined) throw new UsageError(`stepContext().cost(): ${problem}`);
  return costOf(given);
}

interface Storage {
  getStore(): StepContext | undefined;
  run<T>(context: StepContext, fn: () => T): T;
}

/** Shared over instances of this package: the worker's own and the one that the project's steps import. */
const shared = globalThis as unknown as {
  [PROVIDER]?: () => StepContext | undefined;
  [PLAIN]?: Storage;
};
const PROVIDER: unique symbol = Symbol.for('perdure.stepContext');
const PLAIN: unique symbol = Symbol.for('perdure.plainStepContext');

/** The worker says once how to find the context of the step that is running. */
export function provideStepContext(current: () => StepContext | undefined): void {
  shared[PROVIDER] = current;
}

export function stepContext(): StepContext {
  if (hasRuntime()) {
    throw new UsageError(
      'stepContext() was called in a workflow: it belongs to a step. Use workflowInfo() and log here, or move the code into a step',
    );
  }
  const context = currentContext();
  if (context) return context;
  throw new UsageError('stepContext() was called outside a step: call it inside the fn of step({ … })');
}

const currentContext = (): StepContext | undefined => shared[PROVIDER]?.() ?? shared[PLAIN]?.getStore();

/** Runs a step that was called as a plain function: in the context of the step that calls it, or in one for tests. */
export function runAsPlainFunction<T>(stepName: string, fn: () => Promise<T>): Promise<T> {
  if (currentContext()) return fn();
  shared[PLAIN] ??= newStorage();
  return shared[PLAIN] ? shared[PLAIN].run(plainContext(stepName), fn) : fn();
}

function newStorage(): Storage | undefined {
  const host = (globalThis as { process?: NodeJS.Process }).process;
  const hooks = host?.getBuiltinModule?.('node:async_hooks');
  return hooks && new hooks.AsyncLocalStorage<StepContext>();
}

function plainContext(stepName: string): StepContext {
  const say = (level: LogLevel) => (message: string, fields?: object) =>
    fields ? console[level](message, fields) : console[level](message);
  return {
    signal: new AbortController().signal,
    attempt: 1,
    heartbeat() {},
    lastHeartbeat: undefined,
    idempotencyKey: `plain/${stepName}`,
    workflowId: 'plain',
    runId: 'plain',
    stepName,
    cost: (given) => void checkedCost(given),
    log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
  };
}
