/**
 * The calls that wait for a run. Owns their number and their end: a wait ends when the run does, when its time is
 * up, when the caller hangs up, or when the server drains.
 */
import type { ServerResponse } from 'node:http';
import { PerdureError } from '../core/errors.js';

export class Waits {
  private readonly waiting = new Set<AbortController>();
  private isDraining = false;

  constructor(private readonly limit: number) {}

  /** Refuses one wait too many. Asked before a run is started for it. */
  admit(): void {
    if (this.waiting.size >= this.limit) {
      throw new PerdureError(
        'TooManyRequestsError',
        `${this.limit} calls are waiting already; try again shortly`,
      );
    }
  }

  /** Calls `wait` with a signal that fires when nobody is left to answer. */
  async hold<T>(response: ServerResponse, wait: (abort: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const hangUp = () => controller.abort();
    this.waiting.add(controller);
    response.once('close', hangUp);
    if (this.isDraining || response.destroyed) controller.abort();
    try {
      return await wait(controller.signal);
    } finally {
      this.waiting.delete(controller);
      response.off('close', hangUp);
    }
  }

  /** Ends all waits, now and from now on; those calls answer with what is known. */
  drain(): void {
    this.isDraining = true;
    for (const controller of this.waiting) controller.abort();
  }
}
