/** Who may work at the same time: one at a time for each run, and some at a time in all. */

/** Work on the same key goes one after the other, in the order in which it came. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  async with<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }

  /** Resolves when all that is under way has ended, well or badly. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}

/** At most `free` at a time; the others wait, first come first served. */
export class SomeAtATime {
  readonly #waiting: (() => void)[] = [];

  constructor(private free: number) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  async with<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}
