/**
 * What closed runs have spent, which does not change any more: every page of a tree has the sums over all of it, and a tree
 * of ten thousand runs is not read again for each.
 */
import type { RunCosts } from '../../core/cost/sums.js';

/** Some ten megabytes. A tree that has more is read again for each page, as are those that were not asked for lately. */
const MAX_KEPT = 30_000;

export class ClosedCosts {
  /** By the keys of the runs, those that were asked for last at the end. */
  readonly #runs = new Map<number, RunCosts>();
  #kept = 0;

  constructor(private readonly max = MAX_KEPT) {}

  get(key: number): RunCosts | undefined {
    const run = this.#runs.get(key);
    if (!run) return undefined;
    this.#runs.delete(key);
    this.#runs.set(key, run);
    return run;
  }

  keep(key: number, run: RunCosts): void {
    // Two who ask at once both have read it.
    if (this.#runs.has(key)) return;
    this.#runs.set(key, run);
    this.#kept += sizeOf(run);
    for (const [oldest, others] of this.#runs) {
      if (this.#kept <= this.max) return;
      this.#runs.delete(oldest);
      this.#kept -= sizeOf(others);
    }
  }
}

/** One that has spent nothing takes a place as well. */
const sizeOf = ({ records }: RunCosts): number => records.length + 1;
