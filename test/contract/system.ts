/**
 * What the contract suite runs on: an engine with real workers behind it.
 *
 * The suite knows this file and the `Engine` port, never which engine answers. Each engine brings a `StartSystem`
 * (such as embedded.ts) and registers the suite with it.
 */
import type { ResultFormat } from '../../src/core/run/run.js';
import type { Engine } from '../../src/engine.js';

export interface SystemOptions {
  /** Folder of workflows that the workers load. */
  directory: string;
  /** Runs whose state a worker keeps between turns; 0 replays every turn from the first event. */
  cacheSize: number;
  /** Bounds to run with, for the cases that meet them. */
  limits?: SystemLimits;
  /** Steps that a worker runs at a time. */
  stepSlots?: number;
  /** The form in which the workers record results. */
  resultFormat?: ResultFormat;
  /** A turn that takes longer ends its worker process. */
  turnTimeoutMs?: number;
  /** Heap of one worker process. */
  maxHeapMb?: number;
}

/** The bounds that cases lower, so that they are met in a test's time. */
export interface SystemLimits {
  signalsPerRun?: number;
  updatesInFlightPerRun?: number;
  updatesPerRun?: number;
  pendingPerRun?: number;
  historyEvents?: number;
  historyEventsSuggestContinue?: number;
  messageTimeoutMs?: number;
  childDepth?: number;
  payloadBytes?: number;
}

export interface System {
  readonly engine: Engine;
  readonly catalog: string;
  /** Stops the workers and starts others with the workflows of another folder; resolves once those are registered. */
  redeploy(directory: string): Promise<void>;
  /** Starts workers with the workflows of another folder beside those that are there; answers with how they leave again. */
  join(directory: string): Promise<() => Promise<void>>;
  /** Until `startWorkers`, nothing executes. */
  stopWorkers(): Promise<void>;
  startWorkers(): Promise<void>;
  /** Process ids of the workers that are alive. */
  workerPids(): number[];
  /** Ends the engine and starts it again on what it had stored; the workers come back by themselves. */
  restartEngine(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves once a program of others that the system needs, and that has ended by itself, serves again. */
  whenBack?(): Promise<void>;
  /** Whether the system has ended by itself while the attempt of a step ran, so that the attempt was made again. */
  isCutOff?(attempt: { idempotencyKey: string; attempt: number }): boolean;
}

export type StartSystem = (options: SystemOptions) => Promise<System>;
