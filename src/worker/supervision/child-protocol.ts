/** What a worker process and its supervisor say to each other over the process's own channel. */
import type { ClosedStatus } from '../../core/run/run.js';
import type { LoadProblem } from '../loading/load-error.js';
import type { FolderSnapshot } from '../loading/snapshot.js';

export type ToChild =
  /**
   * The first message; secrets travel here and never in arguments or the environment. `options` are those of the
   * kind of worker that the program runs.
   */
  | {
      kind: 'start';
      /** The process that it must not outlive: it may have ended by the time somebody asks who the parent is. */
      supervisor: number;
      directory: string;
      options: unknown;
      /** Of the folder; without one it is read. */
      snapshot?: FolderSnapshot;
    }
  | { kind: 'drain'; graceMs: number };

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
  /** The files are loaded, and have not ended the process. */
  | { kind: 'loaded' }
  /** It looks for its engine; with the files outside the folder, packages left out, and what was read, unless that was given. */
  | { kind: 'ready'; outside: string[]; snapshot?: FolderSnapshot }
  /** Its engine knows it. */
  | { kind: 'registered' }
  | { kind: 'closing'; run: ClosingRun }
  | { kind: 'loadFailed'; directory: string; problems: LoadProblem[]; outside: string[] };

/**
 * Log lines of the worker itself go over standard output between those of user code, marked by this character and
 * then JSON `[level, fields, message]`: one bounded stream to read.
 */
export const LOG_MARK = '\u001e';

/** Of what a process prints: the rest of a longer line is dropped. */
export const MAX_LINE_LENGTH = 8_192;

/**
 * A channel of its own carries signs of life, one character each, from the watchdog's thread, which user code cannot
 * block: a process that gives none does not run at all.
 */
export const PULSE_FD = 4;
export const PULSE = {
  alive: '.',
  /** User code lets nothing else run. */
  blocked: '!',
  /** It has been given its first task. */
  works: 'w',
} as const;

export function isFromChild(value: unknown): value is FromChild {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, directory, problems, run, outside } = value as Record<string, unknown>;
  if (kind === 'loaded' || kind === 'registered') return true;
  const hasOutside = Array.isArray(outside) && outside.every((file) => typeof file === 'string');
  if (kind === 'ready') return hasOutside;
  if (kind === 'closing') return typeof run === 'object' && run !== null;
  return kind === 'loadFailed' && typeof directory === 'string' && Array.isArray(problems) && hasOutside;
}
