/** Callers that wait for something of a run to be on disk: its next event, or its end. */
import type { Abort } from '../../core/abort.js';
import { AT_ONCE, type TimeSlices } from '../../core/bounds/time-slices.js';
import type { Scheduler } from '../../core/clock.js';
import { Placed } from '../../core/values/placed.js';
import { TurnoverMap } from '../../core/values/turnover.js';

interface Waiter<T> {
  place: number;
  /** It is answered now. */
  finish(value: T | undefined): void;
  /** It is answered in a slice of its own, or when aborted: a server that ends answers all it can. */
  finishInSlice(value: T): void;
}

export class Waiters<T> {
  readonly #byRun = new TurnoverMap<string, Placed<Waiter<T>>>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly slices: TimeSlices,
  ) {}

  /** Resolves to what the run is woken with, or to undefined after `waitMs`, when aborted, or when all are let go. */
  wait(runId: string, waitMs: number, abort?: Abort): Promise<T | undefined> {
    if (waitMs <= 0 || abort?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      let waiters = this.#byRun.get(runId);
      if (!waiters) {
        waiters = new Placed();
        this.#byRun.set(runId, waiters);
      }
      const leave = () => {
        timer.cancel();
        abort?.removeEventListener('abort', letGo);
        waiters.delete(waiter);
        if (waiters.size === 0) this.#byRun.delete(runId);
      };
      const waiter: Waiter<T> = {
        place: 0,
        finish(value) {
          leave();
          resolve(value);
        },
        finishInSlice: (value) => {
          leave();
          const answer = () => resolve(value);
          abort?.addEventListener('abort', answer, { once: true });
          void this.slices.take().then(() => {
            abort?.removeEventListener('abort', answer);
            answer();
          });
        },
      };
      const letGo = () => waiter.finish(undefined);
      const timer = this.scheduler.after(waitMs, letGo);
      abort?.addEventListener('abort', letGo, { once: true });
      waiters.add(waiter);
    });
  }

  has(runId: string): boolean {
    return this.#byRun.has(runId);
  }

  wake(runId: string, value: T): void {
    const waiters = this.#byRun.get(runId);
    if (!waiters) return;
    const isCrowd = waiters.size > AT_ONCE;
    for (const waiter of waiters.all()) {
      if (isCrowd) waiter.finishInSlice(value);
      else waiter.finish(value);
    }
  }

  letGo(runId: string): void {
    const waiters = this.#byRun.get(runId);
    if (waiters) for (const { finish } of waiters.all()) finish(undefined);
  }

  letAllGo(): void {
    for (const waiters of [...this.#byRun.values()])
      for (const { finish } of waiters.all()) finish(undefined);
  }
}
