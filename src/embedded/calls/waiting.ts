/** Callers that wait for something of a run to be on disk: its next event, or its end. */
import type { Abort } from '../../core/abort.js';
import type { Scheduler } from '../../core/clock.js';
import { TurnoverMap } from '../../core/values/turnover.js';

export class Waiters<T> {
  readonly #byRun = new TurnoverMap<string, Set<(value: T | undefined) => void>>();

  constructor(private readonly scheduler: Scheduler) {}

  /** Resolves to what the run is woken with, or to undefined after `waitMs`, when aborted, or when all are let go. */
  wait(runId: string, waitMs: number, abort?: Abort): Promise<T | undefined> {
    if (waitMs <= 0 || abort?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      let waiters = this.#byRun.get(runId);
      if (!waiters) {
        waiters = new Set();
        this.#byRun.set(runId, waiters);
      }
      const finish = (value: T | undefined) => {
        timer.cancel();
        abort?.removeEventListener('abort', letGo);
        waiters.delete(finish);
        if (waiters.size === 0) this.#byRun.delete(runId);
        resolve(value);
      };
      const letGo = () => finish(undefined);
      const timer = this.scheduler.after(waitMs, letGo);
      abort?.addEventListener('abort', letGo, { once: true });
      waiters.add(finish);
    });
  }

  has(runId: string): boolean {
    return this.#byRun.has(runId);
  }

  wake(runId: string, value: T): void {
    const waiters = this.#byRun.get(runId);
    if (waiters) for (const finish of [...waiters]) finish(value);
  }

  letGo(runId: string): void {
    const waiters = this.#byRun.get(runId);
    if (waiters) for (const finish of [...waiters]) finish(undefined);
  }

  letAllGo(): void {
    for (const waiters of [...this.#byRun.values()]) for (const finish of [...waiters]) finish(undefined);
  }
}
