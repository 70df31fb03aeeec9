/**
 * What is random in a run: sequences of one seed, which a replay has again. Each use that may come or stay away by itself
 * has a sequence of its own, so that none moves the others.
 */
import { uuidFrom } from '../../../sdk/info.js';
import { randomSequence } from '../realm/random.js';

export class Chance {
  #seed = '';
  /** Made of the seed when they are first needed: most workflows never do. */
  #sequence: (() => number) | undefined;
  /** For what is not run again at a replay. */
  #aside: (() => number) | undefined;
  /** For ids of callbacks, which came later than runs that are replayed. */
  #callbacks: (() => number) | undefined;

  reseed(seed: string): void {
    this.#seed = seed;
    this.#sequence = undefined;
    this.#aside = undefined;
    this.#callbacks = undefined;
  }

  next(): number {
    this.#sequence ??= randomSequence(this.#seed);
    return this.#sequence();
  }

  nextAside(): number {
    this.#aside ??= randomSequence(`${this.#seed}/aside`);
    return this.#aside();
  }

  callbackId(): string {
    this.#callbacks ??= randomSequence(`${this.#seed}/callbacks`);
    return uuidFrom(this.#callbacks);
  }
}
