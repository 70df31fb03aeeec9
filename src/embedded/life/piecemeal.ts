/**
 * Work on thousands of runs, of which nobody else may have to wait for more than a piece: some of it, a commit, whatever has
 * come meanwhile, and more of it.
 *
 * What is left has to follow from what is on disk: the process may end between any two pieces, and the next one goes on.
 */
import type { Kernel } from '../kernel.js';
import type { Damage } from './damage.js';

/** What a piece may read of histories, by `readingCost`. */
const PIECE_COST = 2 * 1024 * 1024;

/** How much more may be done before others get their turn. */
export class Piece {
  #cost = PIECE_COST;

  constructor(private runs: number) {}

  get isFull(): boolean {
    return this.runs <= 0 || this.#cost <= 0;
  }

  /** Something was done with a run that had to be read for it, or had not (0). */
  took(readingCost: number): void {
    this.runs--;
    this.#cost -= readingCost;
  }
}

export class Piecemeal {
  #isStopped = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly damage: Damage,
  ) {}

  stop(): void {
    this.#isStopped = true;
  }

  /** Does the next piece when all that was decided so far is on disk, so that no commit holds more than one. */
  goOn(piece: () => void): void {
    const { commit, scheduler } = this.kernel;
    const next = () => {
      if (!this.#isStopped) this.damage.contain(piece);
    };
    commit.afterCommit(() => scheduler.soon(next));
  }
}
