/** A value that parts of the page watch: what is not fetched, such as settings and whether the server answers. */
import { useSyncExternalStore } from 'react';

export class Store<T> {
  readonly #listeners = new Set<() => void>();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  read = (): T => this.#value;
}

export const useStore = <T>(store: Store<T>): T => useSyncExternalStore(store.subscribe, store.read);
