/**
 * Time that passes only when nothing is left to do at its instant. What falls on the same instant happens in an order
 * that the seed decides, since nothing in the real world decides it either.
 */
import type { Clock, Scheduler } from '../../src/core/clock.js';
import { Agenda, Owner } from '../../src/testing/agenda.js';
import type { Random } from '../../src/testing/random.js';

export { Owner };

export interface Instant {
  now: number;
  ms: number;
}

const EPOCH = 1_800_000_000_000;

export class VirtualTime implements Clock {
  /** Since the beginning, by the monotonic clock. */
  ms = 0;
  /** How far the clock on the wall has been set from the right time. */
  offsetMs = 0;
  /** When it was set last. */
  setAt = 0;
  readonly #agenda = new Agenda();

  constructor(private readonly random: Random) {}

  now(): number {
    return EPOCH + this.ms + this.offsetMs;
  }

  monotonicMs(): number {
    return this.ms;
  }

  /** What both clocks show. */
  instant(): Instant {
    return { now: this.now(), ms: this.ms };
  }

  set(offsetMs: number): void {
    this.offsetMs = offsetMs;
    this.setAt = this.ms;
  }

  after(ms: number, owner: Owner, action: () => void): { cancel(): void } {
    return this.#agenda.add(this.ms + Math.max(0, Math.ceil(ms)), owner, action, this.random.next());
  }

  schedulerOf(owner: Owner): Scheduler {
    return {
      monotonicMs: () => this.ms,
      after: (ms, action) => this.after(ms, owner, action),
      // The input at hand may take a moment, in which more of it comes.
      soon: (action) => void this.after(this.random.pick([0, 0, 0, 1, 1, 3]), owner, action),
    };
  }

  /** What happens next; undefined when nothing ever will, or not before `until`. */
  next(until: number): (() => void) | undefined {
    const entry = this.#agenda.take(until);
    if (!entry) return undefined;
    this.ms = entry.at;
    return entry.action;
  }
}
