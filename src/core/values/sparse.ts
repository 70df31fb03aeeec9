/** Collections that take no room until something is in them: a run has many, and most of them stay empty. */

const EMPTY_SET: ReadonlySet<never> = new Set<never>();
const EMPTY_MAP: ReadonlyMap<never, never> = new Map<never, never>();

export class SparseSet<T> implements Iterable<T> {
  #set: Set<T> | undefined;

  get size(): number {
    return this.#set?.size ?? 0;
  }

  has(value: T): boolean {
    return this.#set?.has(value) ?? false;
  }

  add(value: T): void {
    this.#set ??= new Set();
    this.#set.add(value);
  }

  delete(value: T): boolean {
    return this.#set?.delete(value) ?? false;
  }

  clear(): void {
    this.#set = undefined;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return (this.#set ?? EMPTY_SET).values();
  }
}

export class SparseMap<K, V> implements Iterable<[K, V]> {
  #map: Map<K, V> | undefined;

  get size(): number {
    return this.#map?.size ?? 0;
  }

  has(key: K): boolean {
    return this.#map?.has(key) ?? false;
  }

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  set(key: K, value: V): void {
    this.#map ??= new Map();
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map?.delete(key) ?? false;
  }

  clear(): void {
    this.#map = undefined;
  }

  keys(): IterableIterator<K> {
    return (this.#map ?? EMPTY_MAP).keys();
  }

  values(): IterableIterator<V> {
    return (this.#map ?? EMPTY_MAP).values();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return (this.#map ?? EMPTY_MAP).entries();
  }
}
