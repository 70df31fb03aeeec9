/**
 * Collections for what comes and goes all the time, such as the runs in memory.
 *
 * When so much has been deleted from a Map that V8 makes a new table of it, the old table keeps what was in it and a pointer
 * to the new one. Once one of these tables has become old, all after it live until the next full collection of garbage,
 * with everything that was under way in between; with 128 callers that was half of what collections cost. So these begin
 * a new Map about as often as V8 makes a new table, and nothing points from one Map to the next.
 */

/** Fewer than this are not worth a new Map. */
const LEAST_REMOVED = 64;

export class TurnoverMap<K, V> implements Iterable<[K, V]> {
  #map = new Map<K, V>();
  #removed = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false;
    if (++this.#removed >= LEAST_REMOVED && this.#removed >= this.#map.size) {
      this.#removed = 0;
      this.#map = new Map(this.#map);
    }
    return true;
  }

  /** In the order in which they came. What is deleted meanwhile is left out; what comes meanwhile may be. */
  *[Symbol.iterator](): Generator<[K, V]> {
    const map = this.#map;
    for (const entry of map) if (map === this.#map || this.#map.has(entry[0])) yield entry;
  }

  *keys(): Generator<K> {
    for (const [key] of this) yield key;
  }

  *values(): Generator<V> {
    for (const [, value] of this) yield value;
  }
}

export class TurnoverSet<T> implements Iterable<T> {
  readonly #members = new TurnoverMap<T, true>();

  get size(): number {
    return this.#members.size;
  }

  has(member: T): boolean {
    return this.#members.has(member);
  }

  add(member: T): void {
    this.#members.set(member, true);
  }

  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  [Symbol.iterator](): Generator<T> {
    return this.#members.keys();
  }
}
