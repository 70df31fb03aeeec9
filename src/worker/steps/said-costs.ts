/**
 * What one attempt has said that it spent, on its way to the engine: with its outcome where that comes soon, and after
 * about a second where it does not, so that a step of an hour shows its spending while it runs.
 */

import { COST_DELAY_MS, COST_LIMITS } from '../../core/bounds/limits.js';
import type { Cost } from '../../core/cost/cost.js';
import { utf8Bytes } from '../../core/values/bytes.js';
import { UsageError } from '../../sdk/errors.js';

export class SaidCosts {
  #unsent: Cost[] = [];
  #count = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly send: (costs: Cost[]) => void,
    /** When the attempt times out, by `performance.now()`: what comes later is too late for a step that has no other. */
    private readonly deadline: number,
  ) {}

  /** @throws UsageError when the attempt has said more than it may */
  add(cost: Cost): void {
    const bytes = this.#bytes + utf8Bytes(JSON.stringify(cost));
    if (this.#count >= COST_LIMITS.perAttempt || bytes > COST_LIMITS.bytesPerAttempt) {
      throw new UsageError(
        `stepContext().cost(): this attempt has said ${this.#count} costs in ${this.#bytes} bytes, and may say ${COST_LIMITS.perAttempt} in ${COST_LIMITS.bytesPerAttempt}: sum up what belongs together and say it once`,
      );
    }
    this.#count++;
    this.#bytes = bytes;
    this.#unsent.push(cost);
    const delayMs = Math.min(COST_DELAY_MS, (this.deadline - performance.now()) / 2);
    this.#timer ??= setTimeout(() => this.flush(), delayMs).unref();
  }

  /** What was not sent yet, for the outcome to carry; undefined when there is nothing. */
  take(): Cost[] | undefined {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#unsent.length === 0) return undefined;
    const unsent = this.#unsent;
    this.#unsent = [];
    return unsent;
  }

  flush(): void {
    const unsent = this.take();
    if (unsent) this.send(unsent);
  }
}
