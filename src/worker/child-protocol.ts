/** What a worker process and its supervisor say to each other over the process's own channel. */
import type { ClosedStatus } from '../core/run.js';
import type { LoadProblem } from './load-error.js';

export type ToChild =
  /**
   * The first message; secrets travel here and never in arguments or the environment. `options` are those of the
   * kind of worker that the program runs.
   */
  { kind: 'start'; directory: string; options: unknown } | { kind: 'drain'; graceMs: number };

/** A run whose last turn is on its way to the engine. */
export interface ClosingRun {
  workflowId: string;
  runId: string;
  workflowType: string;
  catalog: string;
  status: ClosedStatus;
  startedAt: number;
  completedAt: number;
}

export type FromChild =
  | { kind: 'ready' }
  | { kind: 'closing'; run: ClosingRun }
  | { kind: 'loadFailed'; directory: string; problems: LoadProblem[] };

/**
 * Log lines of the worker itself go over standard output between those of user code, marked by this character and
 * then JSON `[level, fields, message]`: one bounded stream to read.
 */
export const LOG_MARK = '\u001e';

export function isFromChild(value: unknown): value is FromChild {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, directory, problems, run } = value as Record<string, unknown>;
  if (kind === 'ready') return true;
  if (kind === 'closing') return typeof run === 'object' && run !== null;
  return kind === 'loadFailed' && typeof directory === 'string' && Array.isArray(problems);
}
