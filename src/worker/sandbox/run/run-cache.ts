/** Runs that a worker keeps between turns: those used last, up to a bound. */
export class RunCache<T> {
  /** In the order of use, oldest first: a Map keeps insertion order. */
  readonly #runs = new Map<string, T>();
  readonly #size: number;
  #evicted: string[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** The run, which leaves the cache until it is put back. */
  take(runId: string): T | undefined {
    const run = this.#runs.get(runId);
    if (run) this.#runs.delete(runId);
    return run;
  }

  peek(runId: string): T | undefined {
    return this.#runs.get(runId);
  }

  put(runId: string, run: T): void {
    this.#runs.set(runId, run);
    if (this.#runs.size <= this.#size) return;
    const oldest = this.#runs.keys().next().value as string;
    this.#runs.delete(oldest);
    this.#evicted.push(oldest);
  }

  forget(runId: string): void {
    this.#runs.delete(runId);
  }

  forgetAll(): void {
    this.#runs.clear();
    this.#evicted = [];
  }

  /** The runs that had to leave since this was asked last. */
  takeEvicted(): string[] {
    if (this.#evicted.length === 0) return NONE;
    const evicted = this.#evicted;
    this.#evicted = [];
    return evicted;
  }
}

const NONE: string[] = [];
