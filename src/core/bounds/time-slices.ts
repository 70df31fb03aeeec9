/**
 * The loop in slices, for those who have waited for the same: a thousand readers of a run must not keep it until the last of them
 * has its next event.
 *
 * 1. While few want a slice, each has it at once.
 * 2. Otherwise they have it in the order in which they asked, as many in a round of the loop as it has time for.
 * 3. Those who want what has just come alternate with those who have much to make up for: nobody waits for all of the others.
 */
import type { Scheduler } from '../clock.js';

/** How long those who had to wait may keep the loop at a time, all together. */
const ROUND_MS = 10;
/** TimeSlices of a round that nobody has to wait for. */
export const AT_ONCE = 4;

export class TimeSlices {
  /** Of those who want what has just come, and of those who have much to make up for. */
  readonly #queues: [(() => void)[], (() => void)[]] = [[], []];
  #isServing = false;
  #givenAtOnce = 0;

  constructor(private readonly scheduler: Scheduler) {}

  /** Resolves when the caller's slice begins, which lasts until it waits for something that is not there yet. */
  take(): Promise<void> {
    const [waiting] = this.#queues;
    if (waiting.length > 0 || this.#givenAtOnce === AT_ONCE) return this.#enqueue(waiting);
    if (this.#givenAtOnce++ === 0) {
      this.scheduler.soon(() => {
        this.#givenAtOnce = 0;
      });
    }
    return Promise.resolve();
  }

  /** The same in a later round, for those who have more to do than one slice takes. */
  wait(): Promise<void> {
    return this.#enqueue(this.#queues[1]);
  }

  #enqueue(queue: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      queue.push(resolve);
      if (!this.#isServing) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#queues.some(({ length }) => length > 0)) {
      await this.#nextRound();
      const until = this.scheduler.monotonicMs() + ROUND_MS;
      // Those who come meanwhile wait for the next round.
      const round = this.#queues.map((queue) => ({ queue, served: 0, end: queue.length }));
      do {
        for (const each of round) {
          if (each.served === each.end) continue;
          each.queue[each.served++]!();
          await whatIsWrittenHasLeft();
        }
      } while (this.scheduler.monotonicMs() < until && round.some(({ served, end }) => served < end));
      for (const { queue, served } of round) queue.splice(0, served);
    }
    this.#isServing = false;
  }

  readonly #nextRound = () => new Promise<void>((resolve) => this.scheduler.soon(resolve));
}

/** Node gathers what is written to a connection until the next tick; handing it to the system then is what takes its time. */
const whatIsWrittenHasLeft = () => new Promise<void>((resolve) => process.nextTick(resolve));
