/** What the object store refused is tried again, ever later; what fails for good is told in the log. */
import type { TraceLimits } from '../core/bounds/limits.js';
import type { Log } from '../core/log.js';

export interface Chore {
  /** What did not work, for the log. */
  failed: string;
  act(): Promise<void>;
  givenUp?(): void;
}

export class Retries {
  readonly #waiting = new Map<string, NodeJS.Timeout>();
  #isClosed = false;

  constructor(
    private readonly limits: TraceLimits,
    private readonly log: Log,
  ) {}

  /** Tries it later. One thing waits for a run at a time. */
  later(runId: string, chore: Chore, error: unknown, attempt = 1): void {
    if (this.#isClosed) return;
    this.forget(runId);
    const willRetry = attempt <= this.limits.retries && this.#waiting.size < this.limits.waitingRetries;
    const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
    const fields = { runId, error: `${name}: ${message}`, attempt };
    if (!willRetry) {
      this.log.error(fields, `${chore.failed}; it is not tried again by itself`);
      chore.givenUp?.();
      return;
    }
    this.log.warn(fields, `${chore.failed}; it will be tried again`);
    const timer = setTimeout(() => {
      this.#waiting.delete(runId);
      chore.act().catch((again) => this.later(runId, chore, again, attempt + 1));
    }, this.#pauseMs(attempt));
    this.#waiting.set(runId, timer.unref());
  }

  isWaiting(runId: string): boolean {
    return this.#waiting.has(runId);
  }

  forget(runId: string): void {
    clearTimeout(this.#waiting.get(runId));
    this.#waiting.delete(runId);
  }

  close(): void {
    this.#isClosed = true;
    for (const runId of [...this.#waiting.keys()]) this.forget(runId);
  }

  /** Doubles each time; not the same for all, since a store that comes back should not meet all of them at once. */
  #pauseMs(attempt: number): number {
    const { firstRetryMs, maxRetryMs } = this.limits;
    return Math.min(firstRetryMs * 2 ** (attempt - 1), maxRetryMs) * (0.5 + Math.random() / 2);
  }
}
