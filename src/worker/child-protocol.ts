/** What a worker process and its supervisor say to each other over the process's own channel. */
import type { LoadProblem } from './load-error.js';
import type { WorkerOptions } from './worker.js';

export type ToChild =
  /** The first message; secrets travel here and never in arguments or the environment. */
  { kind: 'start'; directory: string; options: WorkerOptions } | { kind: 'drain'; graceMs: number };

export type FromChild =
  | { kind: 'ready' }
  | { kind: 'loadFailed'; directory: string; problems: LoadProblem[] };

/**
 * Log lines of the worker itself go over standard output between those of user code, marked by this character and
 * then JSON `[level, fields, message]`: one bounded stream to read.
 */
export const LOG_MARK = '\u001e';

export function isFromChild(value: unknown): value is FromChild {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, directory, problems } = value as Record<string, unknown>;
  if (kind === 'ready') return true;
  return kind === 'loadFailed' && typeof directory === 'string' && Array.isArray(problems);
}
