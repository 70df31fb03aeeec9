/** How many runs of each tree or chain were started in the minute that began with the first of them. */
import type { Clock } from '../../core/clock.js';

interface Starts {
  since: number;
  count: number;
}

const MINUTE_MS = 60_000;
/** So many are counted before those are forgotten that have started nothing for a minute. */
const MAX_COUNTED = 10_000;

/** A restart may forget them: it takes its time as well. */
export class StartsPerMinute {
  readonly #starts = new Map<string, Starts>();

  constructor(private readonly clock: Clock) {}

  /** Answers with how many that makes in this minute. */
  add(name: string): number {
    const starts = this.#starts.get(name);
    if (starts && !this.#isPast(starts)) return ++starts.count;
    if (this.#starts.size >= MAX_COUNTED) {
      for (const [each, starts] of this.#starts) if (this.#isPast(starts)) this.#starts.delete(each);
    }
    this.#starts.set(name, { since: this.clock.monotonicMs(), count: 1 });
    return 1;
  }

  of(name: string): number {
    const starts = this.#starts.get(name);
    return starts && !this.#isPast(starts) ? starts.count : 0;
  }

  #isPast({ since }: Starts): boolean {
    return this.clock.monotonicMs() - since >= MINUTE_MS;
  }
}
