/** The package `perdure/testing`: tests of workflows. The list is explicit; what is not here is private. */
import { crashEverywhere as crash } from './crash-everywhere.js';
import { openEnvironment } from './environment.js';
import type { CrashEverywhere, CreateTestEnvironment } from './types.js';

export { HistoryFormatError } from '../core/history/read-wire-event.js';
export type { WireEvent as HistoryEvent } from '../core/history/wire-event.js';
export type { Log } from '../core/log.js';
export type { ReplayResult } from '../core/replay-result.js';
export type { Why, WhyReason } from '../core/run/why.js';
export { CrashDifferenceError, WorkflowFailedError, WorkflowStuckError } from './errors.js';
export type {
  AdvanceOptions,
  CostOptions,
  Costs,
  CrashOptions,
  CrashReport,
  FeedbackOptions,
  PauseOptions,
  ReplayOptions,
  ResetPoint,
  StartOptions,
  StatusRecord,
  StepCall,
  StepLike,
  TestEnvironment,
  TestEnvironmentOptions,
  TestRun,
} from './types.js';

/** Loads the folder and opens the engine on it. @throws LoadError with every problem of the files, UsageError */
export const createTestEnvironment: CreateTestEnvironment = openEnvironment;

/**
 * Runs the program once undisturbed, and then with a crash after every commit, with the worker lost at every step, with
 * every answer delivered late or twice, and with some of these together. Each time it gets a fresh environment with the
 * workflows and mocks of `env`, and must return the same.
 * @throws CrashDifferenceError for the first difference; what the program throws undisturbed
 */
export const crashEverywhere: CrashEverywhere = crash;
