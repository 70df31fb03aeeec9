/** A map that forgets what was not used for longest once it is full. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  #weight = 0;

  /** `limit` is the number of entries, or what they may weigh together. */
  constructor(
    private readonly limit: number,
    private readonly weigh: (value: V) => number = () => 1,
  ) {}

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  /** Without counting as a use. */
  peek(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.weigh(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.limit) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.weigh(value);
  }

  /** Oldest use first. */
  keys(): Iterable<K> {
    return this.#entries.keys();
  }

  /** Oldest use first. */
  values(): Iterable<V> {
    return this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }
}
