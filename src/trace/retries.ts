/** What the object store refused is tried again, ever later; what fails for good is told in the log. */
import type { TraceLimits } from '../core/bounds/limits.js';
import type { Log } from '../core/log.js';

export class Retries {
  readonly #waiting = new Map<string, NodeJS.Timeout>();
  #isClosed = false;

  constructor(
    private readonly limits: TraceLimits,
    private readonly log: Log,
  ) {}

  /** Tries `action` later; `what` says in the log what did not work. One thing waits for a run at a time. */
  later(runId: string, what: string, error: unknown, action: () => Promise<void>, attempt = 1): void {
    if (this.#isClosed) return;
    this.forget(runId);
    const willRetry = attempt <= this.limits.retries && this.#waiting.size < this.limits.waitingRetries;
    const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
    const fields = { runId, error: `${name}: ${message}`, attempt };
    if (!willRetry) {
      this.log.error(fields, `${what}; it is not tried again by itself`);
      return;
    }
    this.log.warn(fields, `${what}; it will be tried again`);
    const timer = setTimeout(() => {
      this.#waiting.delete(runId);
      action().catch((again) => this.later(runId, what, again, action, attempt + 1));
    }, this.#pauseMs(attempt));
    this.#waiting.set(runId, timer.unref());
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
