/**
 * Group commit: transitions that are decided while the process handles one batch of input share one transaction.
 *
 * 1. Nothing leaves the engine before the commit that holds it has returned: what must be told to somebody is an
 *    `afterCommit` and runs only then.
 * 2. A commit that somebody waits for is made as soon as the input at hand has been handled; in a flood of callers, as
 *    soon as those who are at the door have been let in.
 * 3. What happens to one run alone and nobody waits for (a step's result, whose turn is on its way to a worker) may be
 *    kept back for a moment, so that it shares a commit with what the workflow does about it. What concerns several
 *    runs is never kept back: they must change together.
 * 4. A commit that fails on a full disk, or because somebody else has the file for a moment, has written nothing, and
 *    nothing of it is forgotten: it is tried again until it can be made, and everybody waits.
 * 5. A run that cannot be saved, whatever the disk does, is left out and set apart; the others are committed.
 * 6. A commit that fails in any other way has an unknown outcome (its data may be on disk or not), so nothing is
 *    acknowledged after it: the engine stops, and what is true is read from the file at the next start. So it does when
 *    a transition could not be made to its end (`fail`): half of it must not reach the disk.
 */

import { inflow } from '../../core/bounds/inflow.js';
import type { Scheduler, Timer } from '../../core/clock.js';
import { TurnoverMap } from '../../core/values/turnover.js';
import type { EngineObserver } from '../../engine.js';
import type { ActiveRun } from './active-run.js';
import { storageFailure } from './damage.js';
import { type Bond, boundTo, type Transaction, type Write } from './transaction.js';

/** How long a change may be kept back: what a busy worker takes for a turn, and too short for anybody to notice. */
const KEEP_BACK_MS = 20;

/** How often a full disk is tried again. */
const FULL_RETRY_MS = 1_000;

/** After SQLite has waited for the file in vain, which takes it a second. */
const BUSY_RETRY_MS = 50;

export interface CommitListener {
  /** A commit is about to be made, which nothing else can be done beside. */
  begins(): void;
  committed(runs: ReadonlySet<ActiveRun>): void;
  /** The runs could not be saved and were left out of the commit; told before those who wait for it are. */
  leftOut(runs: ReadonlyMap<ActiveRun, Error>): void;
  /** Nothing is committed from now on. */
  failed(error: Error): void;
  /** The disk is full, or no longer. */
  full(isFull: boolean): void;
}

interface Batch {
  promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

export class GroupCommit {
  #changed = new Set<ActiveRun>();
  #writes: Write[] = [];
  #bonds: Bond[] = [];
  #after: (() => void)[] = [];
  #isScheduled = false;
  #timer: Timer | undefined;
  /** Runs with nothing but changes that may wait, and since when. */
  readonly #keptBack = new TurnoverMap<ActiveRun, number>();
  #isKeepingBack = false;
  #failure: Error | undefined;
  /** While the commit cannot be made: when it is tried again, and whether the disk is full. */
  #retry: { timer: Timer; isFull: boolean } | undefined;
  /** Of the batch that is being gathered; made when somebody waits for it. */
  #batch: Batch | undefined;

  constructor(
    private readonly transaction: Transaction,
    private readonly listener: CommitListener,
    private readonly observer: EngineObserver,
    private readonly scheduler: Scheduler,
    private readonly inspect?: (runs: ReadonlySet<ActiveRun>) => void,
  ) {}

  /** The run has something to save. */
  changed(run: ActiveRun): void {
    if (!this.#isKeepingBack) this.include(run);
    else if (!this.#changed.has(run) && !this.#keptBack.has(run))
      this.#keptBack.set(run, this.scheduler.monotonicMs());
    if (!this.#isScheduled) this.#timer ??= this.scheduler.after(KEEP_BACK_MS, () => this.flush());
  }

  /** What changes in `transition` concerns one run alone, and nobody waits for it. */
  keepBack<T>(transition: () => T): T {
    this.#isKeepingBack = true;
    try {
      return transition();
    } finally {
      this.#isKeepingBack = false;
    }
  }

  /** The run goes with the next commit, whatever was kept back of it. */
  include(run: ActiveRun): void {
    this.#keptBack.delete(run);
    this.#changed.add(run);
  }

  /** What has changed of the two belongs together: a commit holds both or none. */
  together(run: ActiveRun, other: ActiveRun): void {
    this.#bonds.push([run, other]);
  }

  /** The run and all that it has changed together with since the last commit. */
  boundTo(run: ActiveRun): ReadonlySet<ActiveRun> {
    return boundTo(run, this.#bonds);
  }

  /** The run is set apart: nothing of it is saved any more. */
  exclude(run: ActiveRun): void {
    this.#keptBack.delete(run);
    this.#changed.delete(run);
    this.#writes = this.#writes.filter((write) => write.run !== run);
  }

  /** Somebody waits for what was decided so far, and for what follows from it. */
  hurry(): void {
    this.#isKeepingBack = false;
    this.#schedule();
  }

  /** A write beside the runs, executed after they are saved; one that belongs to a run is left out with it. */
  write(write: () => void, run?: ActiveRun): void {
    this.#writes.push({ write, run });
    this.#schedule();
  }

  /** Runs when all that was decided so far is on disk; never, if that fails. */
  afterCommit(action: () => void): void {
    this.#after.push(action);
    this.#schedule();
  }

  /** Resolves when all that was decided so far is on disk. */
  committed(): Promise<void> {
    if (!this.#batch) {
      let resolve!: () => void;
      let reject!: (error: Error) => void;
      const promise = new Promise<void>((res, rej) => {
        resolve = res;
        reject = rej;
      });
      this.#batch = { promise, resolve, reject };
    }
    this.#schedule();
    return this.#batch.promise;
  }

  /** Whether the last commit found no space. */
  get isFull(): boolean {
    return this.#retry?.isFull === true;
  }

  /** Whether all that was decided so far could be committed, as far as that was tried. */
  get isHeldUp(): boolean {
    return this.#retry !== undefined;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** A transition has ended half-way, for a reason that is not one run's: nothing is committed from now on. */
  fail(error: Error): void {
    if (!this.#failure) this.#fail(error);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#afterInput(this.scheduler.monotonicMs());
  }

  /** After the input that is already there has been handled, so that all of it shares this commit. */
  #afterInput(since: number): void {
    this.scheduler.soon(() => {
      if (this.#isScheduled && inflow.mayWait(since)) this.#afterInput(since);
      else this.flush();
    });
  }

  /** Commits now: all of it, or without what was kept back and may wait longer. */
  flush(all = false): void {
    this.#isScheduled = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#includeDue(all);
    // What could not be committed waits for the next try with all the rest.
    if (!this.#retry || this.#failure) this.#commit();
  }

  /** Commits for the last time. Who still waits is told that it failed. */
  stop(error: Error): void {
    this.#includeDue(true);
    if (!this.#failure) this.#commit();
    this.#retry?.timer.cancel();
    this.#timer?.cancel();
    this.#failure ??= error;
    this.#batch?.reject(this.#failure);
    this.#batch = undefined;
  }

  #commit(): void {
    if (this.#failure) {
      this.#batch?.reject(this.#failure);
      this.#batch = undefined;
      return;
    }
    const runs = this.#changed;
    this.listener.begins();
    const startedAt = this.scheduler.monotonicMs();
    let leftOut: ReadonlyMap<ActiveRun, Error> | undefined;
    try {
      if (runs.size > 0 || this.#writes.length > 0)
        leftOut = this.transaction.commit(runs, this.#writes, this.#bonds);
    } catch (error) {
      const failure = storageFailure(error);
      if (failure === 'full' || failure === 'busy') this.#tryAgainLater(failure === 'full');
      else this.#fail(error as Error);
      return;
    }
    const after = this.#after;
    const batch = this.#batch;
    this.#after = [];
    this.#writes = [];
    this.#bonds = [];
    this.#batch = undefined;
    this.#changed = new Set();
    this.#isMade();
    if (leftOut) {
      for (const run of leftOut.keys()) runs.delete(run);
      if (leftOut.size > 0) this.listener.leftOut(leftOut);
      this.observer.committed?.(runs.size, this.scheduler.monotonicMs() - startedAt);
      this.#inspect(runs, batch);
    }
    try {
      for (const action of after) action();
      this.listener.committed(runs);
    } catch (error) {
      batch?.reject(error as Error);
      this.fail(error as Error);
      // A disk that fails is told by that; anything else is our own bug, and not kept quiet.
      if (storageFailure(error) === 'definite') throw error;
      return;
    }
    batch?.resolve();
    if (this.#keptBack.size > 0) this.#timer ??= this.scheduler.after(KEEP_BACK_MS, () => this.flush());
  }

  /** What a check finds is our own bug: it ends the engine, and is not kept quiet. */
  #inspect(runs: ReadonlySet<ActiveRun>, batch: Batch | undefined): void {
    try {
      this.inspect?.(runs);
    } catch (error) {
      batch?.reject(error as Error);
      this.#fail(error as Error);
      throw error;
    }
  }

  #isMade(): void {
    const { isFull } = this;
    this.#retry?.timer.cancel();
    this.#retry = undefined;
    if (isFull) this.listener.full(false);
  }

  #tryAgainLater(isFull: boolean): void {
    const wasFull = this.isFull;
    if (isFull && !wasFull) this.listener.full(true);
    this.#retry?.timer.cancel();
    const again = () => {
      this.#includeDue(true);
      this.#commit();
    };
    const timer = this.scheduler.after(isFull ? FULL_RETRY_MS : BUSY_RETRY_MS, again);
    // There is space again when something has been written.
    this.#retry = { timer, isFull: isFull || wasFull };
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#batch?.reject(error);
    this.#batch = undefined;
    this.#retry?.timer.cancel();
    this.listener.failed(error);
  }

  #includeDue(all: boolean): void {
    const due = this.scheduler.monotonicMs() - KEEP_BACK_MS;
    for (const [run, since] of this.#keptBack) {
      // In the order in which they were kept back, so the rest is younger.
      if (!all && since > due) return;
      this.include(run);
    }
  }
}
