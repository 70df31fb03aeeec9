/**
 * One commit: the runs that changed, what is written beside them, and the link of the chain that holds it.
 *
 * 1. The runs learn that they are saved only when SQLite has returned, so a transaction that was rolled back can be made
 *    again with nothing forgotten.
 * 2. What cannot be written, whatever the disk does, is left out with all that it belongs together with, such as a parent
 *    and the child that it started, and the rest is written without them. The transaction is made anew for that: after a
 *    page that makes no sense SQLite does not go on within one.
 */
import type Database from 'better-sqlite3';
import { faultPoint } from '../../core/fault-point.js';
import type { ActiveRun, Saved } from './active-run.js';
import { storageFailure } from './damage.js';
import type { CommitChain, Tip } from './folder/commit-chain.js';
import type { SettledTime } from './settled-time.js';
import type { Tables } from './tables/tables.js';

export interface Write {
  write(): void;
  /** It is left out of the commit with this run, and the run with it. */
  run: ActiveRun | undefined;
}

/** Two runs that changed in one transition. */
export type Bond = readonly [ActiveRun, ActiveRun];

export interface TransactionListener {
  committed(tip: Tip, runs: ReadonlySet<ActiveRun>): void;
  /** A write that belongs to no run could not be made, and was left out. */
  dropped(error: Error): void;
  /** @throws when nothing may be committed any more */
  begins(): void;
}

export class Transaction {
  readonly #write: (runs: ReadonlySet<ActiveRun>, writes: readonly Write[]) => { saved: Saved[]; tip: Tip };
  /** What is being written. */
  #current: ActiveRun | Write | undefined;

  constructor(
    db: Database.Database,
    tables: Tables,
    private readonly chain: CommitChain,
    time: SettledTime,
    private readonly listener: TransactionListener,
  ) {
    this.#write = db.transaction((runs: ReadonlySet<ActiveRun>, writes: readonly Write[]) => {
      tables.takeWritten();
      const saved: Saved[] = [];
      for (const run of runs) {
        this.#current = run;
        saved.push(tables.saveRun(run));
      }
      for (const each of writes) {
        this.#current = each;
        each.write();
      }
      this.#current = undefined;
      const tip = chain.save(`${runs.size}/${tables.takeWritten()}`, time.now());
      faultPoint('commitWritten');
      return { saved, tip };
    }).immediate;
  }

  /** Returns the runs that could not be saved and were left out, with the reason. @throws what is full, or unknown */
  commit(
    changed: ReadonlySet<ActiveRun>,
    wanted: readonly Write[],
    bonds: readonly Bond[],
  ): ReadonlyMap<ActiveRun, Error> {
    let runs = changed;
    let writes = wanted;
    const leftOut = new Map<ActiveRun, Error>();
    const dropped: Error[] = [];
    this.listener.begins();
    for (;;) {
      this.#current = undefined;
      try {
        const { saved, tip } = this.#write(runs, writes);
        faultPoint('commitReturned');
        let index = 0;
        for (const run of runs) run.saved(saved[index++]!);
        this.chain.committed(tip);
        this.listener.committed(tip, runs);
        for (const error of dropped) this.listener.dropped(error);
        return leftOut;
      } catch (error) {
        const culprit = this.#current as ActiveRun | Write | undefined;
        if (!culprit || storageFailure(error) !== 'definite') throw error;
        const run = 'write' in culprit ? culprit.run : culprit;
        if (run) {
          const group = boundTo(run, bonds);
          for (const each of group) if (runs.has(each) || each === run) leftOut.set(each, error as Error);
          runs = new Set([...runs].filter((each) => !group.has(each)));
          writes = writes.filter((write) => write.run === undefined || !group.has(write.run));
        } else {
          dropped.push(error as Error);
          writes = writes.filter((write) => write !== culprit);
        }
      }
    }
  }
}

/** The run and all that it is bound to, over however many others. */
export function boundTo(run: ActiveRun, bonds: readonly Bond[]): ReadonlySet<ActiveRun> {
  const group = new Set([run]);
  // A set that grows while it is gone through is gone through to its new end.
  for (const member of group) {
    for (const [a, b] of bonds) {
      if (a === member) group.add(b);
      if (b === member) group.add(a);
    }
  }
  return group;
}
