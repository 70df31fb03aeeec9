/** One connected worker: what it can do, what it has, and what its end says about the tasks that it had. */

import { MAX_WORKER_SLOTS } from '../../core/bounds/limits.js';
import type { RegisteredWorkflow } from '../../core/catalog.js';
import type { ResultFormat } from '../../core/run/run.js';
import type { CodeVersion } from '../../core/run/version.js';
import type { Culprit, LastWords, StepAttempt, ToWorker, WorkerPool, WorkerSlots } from '../../core/task.js';
import { TurnoverMap } from '../../core/values/turnover.js';
import type { TaskNeed } from './task-need.js';

/**
 * What the end of its worker says about a task: it was the reason, it may have been, it was not, or, of a step, its code
 * had not begun to run.
 */
export type Verdict = 'guilty' | 'suspect' | 'innocent' | 'unstarted';

export interface HandedOut extends StepAttempt {
  isSent: boolean;
  /** The turn that the worker may begin when the step has completed. */
  nextTurnId: number | undefined;
}

export const attemptKey = (attempt: StepAttempt): string =>
  `${attempt.runId}/${attempt.scheduledEventId}/${attempt.attempt}`;

const TURN_KEY = 'turn/';
export const turnKey = (turnId: number): string => `${TURN_KEY}${turnId}`;

const keyOf = (culprit: Culprit): string =>
  'turnId' in culprit ? turnKey(culprit.turnId) : attemptKey(culprit);

/** As many as a worker may have under way. */
const MAX_STOPPED = MAX_WORKER_SLOTS;

export class WorkerConnection {
  catalog: string | undefined;
  identity = 'unregistered worker';
  /** By which its witness speaks of it. */
  id: string | undefined;
  pool: WorkerPool | undefined;
  format: ResultFormat = 'current';
  /** It tells OpenTelemetry of the attempts that it makes. */
  makesSpans = false;
  slots: WorkerSlots = { turns: 0, steps: 0 };
  version: CodeVersion = { id: '', name: null };
  host: string | undefined;
  pid: number | undefined;
  /** Epoch milliseconds. */
  registeredAt = 0;
  lastSeenAt = 0;
  /** What it has registered: the steps of each workflow, or that it does not say which. */
  readonly #steps = new Map<string, ReadonlySet<string> | 'any'>();
  isDraining = false;
  isConnected = true;
  /** It stands by: it gets only what has to be tried apart from everything else. */
  isReserve = false;
  /** By the monotonic clock. */
  lastHeardAt = 0;
  /** Looks in a row at which nothing had been heard of it since the last. */
  silentLooks = 0;
  /** User code blocks it, or it does not run at all. */
  isStuck = false;
  /** Suspects that it was given a short while ago: if it ends now, then of one of them. */
  readonly probation = new Map<string, number>();
  /** How many it may be given together: the more have survived, the more. `left` of them can still join the others. */
  batch = { size: 0, left: 0 };
  /** The task that it was given on the condition that it gets nothing else. */
  sole: string | undefined;
  /** Turns under way: turn id to run. */
  readonly turns = new TurnoverMap<number, string>();
  readonly steps = new TurnoverMap<string, HandedOut>();
  /** Attempts that it was told to stop: what they had spent by then may be on its way. */
  readonly stopped = new Set<string>();
  /** Runs that this worker has cached, with the last event it was sent of each. */
  readonly cached = new TurnoverMap<string, number>();
  #words: { culprit: string | undefined; started: ReadonlySet<string> } | undefined;

  constructor(
    readonly send: (message: ToWorker) => void,
    /** Ends the connection. */
    readonly drop: (reason: string) => void = () => {},
    /** What was sent leaves now. */
    readonly flush: () => void = () => {},
  ) {}

  /** What comes of an attempt comes soon, so those of long ago are forgotten. */
  wasStopped(key: string): void {
    this.stopped.add(key);
    for (const oldest of this.stopped) {
      if (this.stopped.size <= MAX_STOPPED) return;
      this.stopped.delete(oldest);
    }
  }

  registers(workflows: readonly RegisteredWorkflow[]): void {
    this.#steps.clear();
    for (const { entry, stepNames } of workflows) {
      this.#steps.set(entry.name, stepNames ? new Set(stepNames) : 'any');
    }
  }

  get workflows(): string[] {
    return [...this.#steps.keys()];
  }

  /** Whether its code has what the task needs; whether it has a slot for it is another question. */
  has({ workflowType, stepName, misfits }: TaskNeed): boolean {
    const steps = this.#steps.get(workflowType);
    if (steps === undefined || misfits.includes(this.version.id)) return false;
    return stepName === undefined || steps === 'any' || steps.has(stepName);
  }

  get isIdle(): boolean {
    return this.turns.size === 0 && this.steps.size === 0;
  }

  get load(): number {
    return this.turns.size + this.steps.size;
  }

  holds(taskKey: string): boolean {
    return (
      this.steps.has(taskKey) ||
      (taskKey.startsWith(TURN_KEY) && this.turns.has(Number(taskKey.slice(TURN_KEY.length))))
    );
  }

  /** What it, or its witness, has said about its end. */
  ends({ culprit, started }: LastWords): void {
    this.#words = { culprit: culprit && keyOf(culprit), started: new Set(started.map(attemptKey)) };
  }

  get isEnding(): boolean {
    return this.#words !== undefined;
  }

  /** Of a task that it had when it ended. */
  verdict(taskKey: string): Verdict {
    if (this.isDraining) return 'innocent';
    if (this.#words) return this.#verdictByWords(this.#words, taskKey);
    if (this.probation.size === 0) return 'suspect';
    if (!this.probation.has(taskKey)) return 'innocent';
    return this.probation.size === 1 ? 'guilty' : 'suspect';
  }

  #verdictByWords(
    { culprit, started }: { culprit: string | undefined; started: ReadonlySet<string> },
    taskKey: string,
  ): Verdict {
    if (culprit === taskKey) return 'guilty';
    if (taskKey.startsWith(TURN_KEY)) return 'innocent';
    if (!started.has(taskKey)) return 'unstarted';
    return culprit === undefined ? 'suspect' : 'innocent';
  }
}
