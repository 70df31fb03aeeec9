/**
 * Group commit: transitions that are decided while the process handles one batch of input share one transaction.
 *
 * 1. Nothing leaves the engine before the commit that holds it has returned: what must be told to somebody is an
 *    `afterCommit` and runs only then.
 * 2. A commit that somebody waits for is made as soon as the input at hand has been handled.
 * 3. What happens to one run alone and nobody waits for (a step's result, whose turn is on its way to a worker) may be
 *    kept back for a moment, so that it shares a commit with what the workflow does about it. What concerns several
 *    runs is never kept back: they must change together.
 * 4. A commit that fails has an unknown outcome (its data may be on disk or not), so nothing is acknowledged after it:
 *    the engine stops, and what is true is read from the file at the next start.
 */
import type Database from 'better-sqlite3';
import { monotonicMs } from '../core/clock.js';
import type { EngineObserver } from '../engine.js';
import type { ActiveRun } from './active-run.js';
import type { Tables } from './tables.js';

/** How long a change may be kept back: what a busy worker takes for a turn, and too short for anybody to notice. */
const KEEP_BACK_MS = 20;

export class GroupCommit {
  readonly #transaction: () => void;
  readonly #changed = new Set<ActiveRun>();
  #writes: (() => void)[] = [];
  #after: (() => void)[] = [];
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  /** Runs with nothing but changes that may wait, and since when. */
  readonly #keptBack = new Map<ActiveRun, number>();
  #isKeepingBack = false;
  #failure: Error | undefined;
  /** Of the batch that is being gathered; made when somebody waits for it. */
  #batch: { promise: Promise<void>; resolve(): void; reject(error: Error): void } | undefined;

  constructor(
    db: Database.Database,
    tables: Tables,
    private readonly onCommitted: (runs: ReadonlySet<ActiveRun>) => void,
    private readonly onFailure: (error: Error) => void,
    private readonly observer: EngineObserver,
  ) {
    const transaction = db.transaction(() => {
      for (const run of this.#changed) tables.saveRun(run);
      for (const write of this.#writes) write();
    });
    this.#transaction = () => transaction.immediate();
  }

  /** The run has something to save. */
  changed(run: ActiveRun): void {
    if (!this.#isKeepingBack) this.include(run);
    else if (!this.#changed.has(run) && !this.#keptBack.has(run)) this.#keptBack.set(run, monotonicMs());
    if (!this.#isScheduled) this.#timer ??= setTimeout(() => this.flush(), KEEP_BACK_MS);
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

  /** Somebody waits for what was decided so far, and for what follows from it. */
  hurry(): void {
    this.#isKeepingBack = false;
    this.#schedule();
  }

  /** A write beside the runs; it is executed after they are saved. */
  write(write: () => void): void {
    this.#writes.push(write);
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

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the input that is already there has been handled, so that all of it shares this commit.
    setImmediate(() => this.flush());
  }

  /** Commits now: all of it, or without what was kept back and may wait longer. */
  flush(all = false): void {
    this.#isScheduled = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#includeDue(all);
    const batch = this.#batch;
    this.#batch = undefined;
    if (this.#failure) {
      batch?.reject(this.#failure);
      return;
    }
    try {
      if (this.#changed.size > 0 || this.#writes.length > 0) {
        const startedAt = monotonicMs();
        this.#transaction();
        this.observer.committed?.(this.#changed.size, monotonicMs() - startedAt);
      }
    } catch (error) {
      this.#failure = error as Error;
      batch?.reject(this.#failure);
      this.onFailure(this.#failure);
      return;
    }
    const after = this.#after;
    this.#after = [];
    this.#writes = [];
    const runs = new Set(this.#changed);
    this.#changed.clear();
    for (const action of after) action();
    this.onCommitted(runs);
    batch?.resolve();
    if (this.#keptBack.size > 0) this.#timer ??= setTimeout(() => this.flush(), KEEP_BACK_MS);
  }

  #includeDue(all: boolean): void {
    const due = monotonicMs() - KEEP_BACK_MS;
    for (const [run, since] of this.#keptBack) {
      // In the order in which they were kept back, so the rest is younger.
      if (!all && since > due) return;
      this.include(run);
    }
  }
}
