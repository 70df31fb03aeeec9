/**
 * The calls that wait for a run. Owns their number and their end: a wait ends when the run does, when its time is
 * up, when the caller hangs up, or when the server drains.
 */
import type { ServerResponse } from 'node:http';
import { PerdureError } from '../core/errors.js';

/**
 * Most runs end sooner, and an AbortSignal costs more than the rest of such a call. So a wait gets one only after
 * this time; until then a caller who hangs up is not noticed.
 */
const UNNOTICED_MS = 100;

/** Waits `waitMs` for something, or until `abort` fires; undefined when it did not come. */
type Wait<T> = (waitMs: number, abort?: AbortSignal) => Promise<T | undefined>;

export class Waits {
  private count = 0;
  private readonly controllers = new Set<AbortController>();
  private isDraining = false;

  constructor(private readonly limit: number) {}

  /** Takes a place among those who wait, before anything is started for it; every `enter` is followed by `leave`. */
  enter(): void {
    if (this.count >= this.limit) {
      throw new PerdureError(
        'TooManyRequestsError',
        `${this.limit} calls are waiting already; try again shortly`,
      );
    }
    this.count++;
  }

  leave(): void {
    this.count--;
  }

  /** Waits for as long as somebody is there to be answered. */
  async hold<T>(response: ServerResponse, waitMs: number, wait: Wait<T>): Promise<T | undefined> {
    const soon = await wait(this.isDraining ? 0 : Math.min(waitMs, UNNOTICED_MS));
    if (soon !== undefined || waitMs <= UNNOTICED_MS || this.isDraining || response.destroyed) return soon;
    return this.holdLong(response, waitMs - UNNOTICED_MS, wait);
  }

  private async holdLong<T>(response: ServerResponse, waitMs: number, wait: Wait<T>): Promise<T | undefined> {
    const controller = new AbortController();
    const hangUp = () => controller.abort();
    this.controllers.add(controller);
    response.once('close', hangUp);
    try {
      return await wait(waitMs, controller.signal);
    } finally {
      this.controllers.delete(controller);
      response.off('close', hangUp);
    }
  }

  /** Ends all waits, now and from now on; those calls answer with what is known. */
  drain(): void {
    this.isDraining = true;
    for (const controller of this.controllers) controller.abort();
  }
}
