/**
 * Whether callers flood in.
 *
 * Node takes one new connection per round of its loop, however many wait. Were each call handled and committed as soon as
 * it is read, every round would carry that work, and connections (a probe of the health among them) would wait for as
 * long as all calls before them take. So who does the work asks here first: in a flood it waits for a moment, until
 * everybody is let in; then much is handled together, and shares a commit.
 */
import { monotonicMs } from '../clock.js';

/** Rounds in a row that have each let somebody in: one after the other they are a flood, here and there they are not. */
const FLOOD_ROUNDS = 8;
/** How long work is put off at a time, however many still come: several times what it then takes. */
const MAX_DELAY_MS = 100;

export class Inflow {
  #hasArrived = false;
  #rounds = 0;
  #isWatching = false;

  constructor(private readonly now: () => number = monotonicMs) {}

  /** Somebody was let in. */
  arrived(): void {
    this.#hasArrived = true;
    if (this.#isWatching) return;
    this.#isWatching = true;
    setImmediate(() => this.#look());
  }

  get isFlood(): boolean {
    return this.#rounds >= FLOOD_ROUNDS;
  }

  /** Whether work that was done or put off last at that time should wait for another round. */
  mayWait(since: number): boolean {
    return this.isFlood && this.now() - since < MAX_DELAY_MS;
  }

  /** At the end of each round, until one has let nobody in. */
  #look(): void {
    this.#rounds = this.#hasArrived ? this.#rounds + 1 : 0;
    this.#hasArrived = false;
    this.#isWatching = this.#rounds > 0;
    if (this.#isWatching) setImmediate(() => this.#look());
  }
}

/** Of this process, which has one loop. */
export const inflow = new Inflow();
