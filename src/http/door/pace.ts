/**
 * The order in which calls are worked off when there are many.
 *
 * 1. While few call, each is handled at once.
 * 2. In a flood everybody is let in first (core/bounds/inflow.ts). Calls are handled in the order in which they came.
 * 3. How many are handled in one round of the loop follows from what a round costs, so that none holds up the next, and
 *    with it the health of the server, for long.
 */

import type { Inflow } from '../../core/bounds/inflow.js';
import { monotonicMs } from '../../core/clock.js';

/** What one round should compute at most. Waiting for the disk is not counted: it is the same for few and many. */
const ROUND_MS = 20;
const MAX_CALLS_PER_ROUND = 128;

export class Pace {
  #waiting: (() => void)[] = [];
  /** When calls were handled last, or began to wait. */
  #since = 0;
  #isScheduled = false;
  /** In this round. */
  #handled = 0;
  /** When this round has taken its time, and whether it has. */
  #fullAt = 0;
  #isOver = false;
  #callsPerRound = MAX_CALLS_PER_ROUND;
  /** By the process, when this round began, if that is known. */
  #computedMs: number | undefined;

  constructor(
    private readonly inflow: Inflow,
    private readonly now: () => number = monotonicMs,
    private readonly computedMs: () => number = processorMs,
  ) {}

  /** Calls `handle` when it is its turn. */
  enter(handle: () => void): void {
    this.#schedule();
    if (this.#waiting.length === 0 && !this.inflow.isFlood && this.#hasRoom()) {
      this.#handled++;
      handle();
      return;
    }
    if (this.#waiting.length === 0) this.#since = this.now();
    this.#waiting.push(handle);
  }

  /** Whether this round can take one more: it has not had its number of calls, and those it had have left it time. */
  #hasRoom(): boolean {
    if (this.#isOver || this.#handled >= this.#callsPerRound) return false;
    if (this.#handled === 0) this.#fullAt = this.now() + ROUND_MS;
    else this.#isOver = this.now() >= this.#fullAt;
    return !this.#isOver;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#nextRound());
  }

  /** When all that was there to be read has been. */
  #nextRound(): void {
    this.#isScheduled = false;
    this.#adapt();
    this.#handled = 0;
    this.#isOver = false;
    if (this.#waiting.length === 0) return;
    this.#schedule();
    if (this.inflow.mayWait(this.#since)) return;
    this.#computedMs ??= this.computedMs();
    queueMicrotask(this.#handleNext);
  }

  /** The next one comes when all is computed that this one can go on with by itself: the most of a call is behind an `await`. */
  readonly #handleNext = (): void => {
    if (this.#handled === this.#waiting.length || !this.#hasRoom()) {
      this.#waiting.splice(0, this.#handled);
      this.#since = this.now();
      return;
    }
    const handle = this.#waiting[this.#handled++]!;
    // Node calls this when no microtask is left; also when the call fails.
    process.nextTick(queueMicrotask, this.#handleNext);
    handle();
  };

  /**
   * Fewer calls for the next round when this one has cost too much, and more when it was full and cheap. What a round
   * costs is asked for only while calls wait or rounds are full: the system takes its time to answer.
   */
  #adapt(): void {
    if (this.#handled < this.#callsPerRound) {
      this.#computedMs = undefined;
      return;
    }
    const computedMs = this.computedMs();
    const costMs = computedMs - (this.#computedMs ?? computedMs - ROUND_MS);
    this.#computedMs = computedMs;
    const factor = costMs > ROUND_MS ? 0.5 : costMs < ROUND_MS / 2 ? 2 : 1;
    this.#callsPerRound = Math.max(1, Math.min(MAX_CALLS_PER_ROUND, Math.ceil(this.#callsPerRound * factor)));
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
