/**
 * One direction of the connection between a worker and the engine. What is sent arrives later, in order, until the
 * connection breaks; then what is on its way is lost. What does not depend on order may overtake or come twice: frames
 * are cut and joined by the link, and a worker may say something again.
 */
import type { Random } from '../../src/testing/random.js';
import type { Owner, VirtualTime } from './virtual-time.js';

export interface LinkFaults {
  /** How slow it is at times, in milliseconds. */
  slowMs: number;
  duplicates: number;
  overtakes: number;
}

export class Link<M> {
  readonly #waiting: M[] = [];
  readonly #overtaking = new Set<M>();
  #lastAt = 0;

  constructor(
    private readonly time: VirtualTime,
    /** Ends with the connection. */
    private readonly owner: Owner,
    private readonly random: Random,
    private readonly faults: () => LinkFaults,
    private readonly deliver: (message: M) => void,
    private readonly orderOf: (message: M) => { mayRepeat: boolean; mayOvertake: boolean },
  ) {}

  send(message: M): void {
    if (!this.owner.isAlive) return;
    const { slowMs, duplicates, overtakes } = this.faults();
    const latencyMs = this.random.chance(0.1) ? this.random.int(0, slowMs) : this.random.int(0, 2);
    const { mayRepeat, mayOvertake } = this.orderOf(message);
    if (mayOvertake && this.random.chance(overtakes)) {
      this.#overtaking.add(message);
      this.time.after(latencyMs, this.owner, () => {
        this.#overtaking.delete(message);
        this.deliver(message);
      });
      return;
    }
    this.#waiting.push(message);
    this.#lastAt = Math.max(this.#lastAt, this.time.ms + latencyMs);
    this.time.after(this.#lastAt - this.time.ms, this.owner, () => this.deliver(this.#waiting.shift()!));
    if (mayRepeat && this.random.chance(duplicates)) {
      const againMs = this.#lastAt - this.time.ms + this.random.int(0, 500);
      // After the first, whatever else the seed decides for this instant.
      this.time.after(againMs + 1, this.owner, () => this.deliver(message));
    }
  }

  /** The sender ends, but what it has sent arrives. */
  flush(): void {
    for (const message of [...this.#overtaking, ...this.#waiting.splice(0)]) this.deliver(message);
  }
}
