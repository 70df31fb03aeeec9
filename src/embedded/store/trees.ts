/**
 * How many descendants of each workflow are open, and how fast they are started: what one tree of children may cost
 * everybody else is bounded.
 */
import type { Clock } from '../../core/clock.js';
import type { RunState } from '../state/run-state.js';
import { treeOf } from '../state/run-state.js';
import { StartsPerMinute } from './starts-per-minute.js';

export class Trees {
  readonly #open: Map<string, number>;
  readonly #starts: StartsPerMinute;

  /** `open`: the open descendants of each tree that are on disk. */
  constructor(clock: Clock, open: Iterable<readonly [tree: string, count: number]>) {
    this.#open = new Map(open);
    this.#starts = new StartsPerMinute(clock);
  }

  started(run: RunState): void {
    if (!run.started.parent) return;
    const tree = treeOf(run);
    this.#add(tree, 1);
    this.#starts.add(tree);
  }

  closed(run: RunState): void {
    if (run.started.parent) this.#add(treeOf(run), -1);
  }

  /** Open descendants of the workflow at the root of the run's tree. */
  descendants(run: RunState): number {
    return this.#open.get(treeOf(run)) ?? 0;
  }

  /** Descendants of the workflow at the root of the run's tree that were started in this minute. */
  startsThisMinute(run: RunState): number {
    return this.#starts.of(treeOf(run));
  }

  #add(tree: string, count: number): void {
    const open = (this.#open.get(tree) ?? 0) + count;
    if (open > 0) this.#open.set(tree, open);
    else this.#open.delete(tree);
  }
}
