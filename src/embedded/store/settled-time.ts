/**
 * The time of day for what cannot be undone: a clock that has jumped forward is believed once it has stayed there for an
 * hour. Until then time goes on from where it was, by the monotonic clock.
 *
 * Every commit keeps it, and after a start it goes on from there. The service may have been down for long, the machine may
 * have come up with a wrong clock, or the clock may have jumped just before; that hour tells.
 */
import type { Clock } from '../../core/clock.js';

/** A clock that is kept in step with others is corrected by less. */
const DRIFT_MS = 60_000;

/** Time for the clock to be set right, by its keeper or by a person. */
const SETTLING_MS = 3_600_000;

export class SettledTime {
  #now: number;
  #lookedAt: number;
  /** Since when the clock is ahead, by the monotonic one. */
  #aheadSince: number | undefined;

  constructor(
    private readonly clock: Clock,
    lastKept: number | undefined,
  ) {
    this.#now = Math.min(clock.now(), lastKept ?? clock.now());
    this.#lookedAt = clock.monotonicMs();
  }

  now(): number {
    const monotonic = this.clock.monotonicMs();
    const expected = this.#now + (monotonic - this.#lookedAt);
    this.#lookedAt = monotonic;
    const shown = this.clock.now();
    if (shown - expected <= DRIFT_MS) this.#aheadSince = undefined;
    else this.#aheadSince ??= monotonic;
    const isBelieved = this.#aheadSince === undefined || monotonic - this.#aheadSince >= SETTLING_MS;
    this.#now = isBelieved ? shown : expected;
    return this.#now;
  }
}
