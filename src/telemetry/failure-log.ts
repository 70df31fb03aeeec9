/**
 * Failed attempts and failed runs as lines of the log, for whoever operates the service.
 *
 * 1. Of each kind only so many are told one by one in a while; the others are counted, and one line says how many there
 *    were. A thousand failures a second cost no more than a counter.
 * 2. A line has the names of what failed, and the name and the message of the error, cut. What callers gave, and what the
 *    error has beside its message, is in none.
 */
import type { Failure } from '../core/history/failure.js';
import type { Log } from '../core/log.js';
import type { FailedAttempt, FailedRun } from '../engine.js';

/** How many lines of each kind are written in how long: enough to see what is going on, and no more than can be read. */
export const TOLD = { lines: 20, withinMs: 10_000 } as const;
/** Characters of an error's message, of which the history has the whole. */
const MAX_MESSAGE_LENGTH = 500;

/** By these the command line knows the lines that it writes out for people. */
export const ATTEMPT_FAILED = 'an attempt of a step failed';
export const RUN_FAILED = 'a run failed';
export const MORE_FAILED = 'more has failed than is told one by one';

export interface AttemptLine {
  workflowId: string;
  runId: string;
  workflowType: string;
  step: string;
  attempt: number;
  /** Absent when there is no limit. */
  maximumAttempts?: number;
  /** ISO; null when it was the last one. */
  nextAttemptAt: string | null;
  error: { name: string; message: string };
}

export interface RunLine {
  workflowId: string;
  runId: string;
  workflowType: string;
  status: FailedRun['status'];
  /** Which step's failure it was, if one was. */
  step?: string;
  /** The run that follows under the workflow's retry policy. */
  newRunId?: string;
  error: { name: string; message: string };
}

export interface MoreLine {
  attempts: number;
  runs: number;
  withinMs: number;
}

type Kind = 'attempts' | 'runs';

export class FailureLog {
  #window: NodeJS.Timeout | undefined;
  #told: Record<Kind, number> = { attempts: 0, runs: 0 };

  constructor(private readonly log: Log) {}

  attemptFailed({ workflowId, runId, workflowType, stepName, attempt, ...failed }: FailedAttempt): void {
    if (!this.#mayTell('attempts')) return;
    const { maximumAttempts, nextAttemptAt, failure } = failed;
    const line: AttemptLine = {
      ...{ workflowId, runId, workflowType, step: stepName, attempt },
      ...(maximumAttempts > 0 && { maximumAttempts }),
      nextAttemptAt: nextAttemptAt === null ? null : new Date(nextAttemptAt).toISOString(),
      error: errorOf(failure),
    };
    this.log.warn(line, ATTEMPT_FAILED);
  }

  runFailed({ workflowId, runId, workflowType, status, newRunId, failure }: FailedRun): void {
    if (!this.#mayTell('runs')) return;
    const { activityType } = failure;
    const line: RunLine = {
      ...{ workflowId, runId, workflowType, status },
      ...(activityType !== undefined && { step: activityType.slice(activityType.indexOf('#') + 1) }),
      ...(newRunId !== undefined && { newRunId }),
      error: errorOf(failure),
    };
    this.log.error(line, RUN_FAILED);
  }

  #mayTell(kind: Kind): boolean {
    this.#window ??= setTimeout(() => this.#endWindow(), TOLD.withinMs).unref();
    return ++this.#told[kind] <= TOLD.lines;
  }

  #endWindow(): void {
    const line: MoreLine = {
      attempts: Math.max(0, this.#told.attempts - TOLD.lines),
      runs: Math.max(0, this.#told.runs - TOLD.lines),
      withinMs: TOLD.withinMs,
    };
    this.#window = undefined;
    this.#told = { attempts: 0, runs: 0 };
    if (line.attempts + line.runs > 0) this.log.warn(line, MORE_FAILED);
  }
}

function errorOf({ type: name, message }: Failure): { name: string; message: string } {
  const isLong = message.length > MAX_MESSAGE_LENGTH;
  return { name, message: isLong ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message };
}
