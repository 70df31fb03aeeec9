/**
 * The calls that wait for a run. Owns their number and their end: a wait ends when the run does, when its time is
 * up, when the caller hangs up, or when the server drains.
 */
import type { ServerResponse } from 'node:http';
import { type Abort, PlainAbort } from '../../core/abort.js';
import { PerdureError } from '../../core/errors.js';
import { Placed } from '../../core/values/placed.js';

/** Waits `waitMs` for something, or until `abort` fires; undefined when it did not come. */
type Wait<T> = (waitMs: number, abort?: Abort) => Promise<T | undefined>;

interface UnderWay {
  abort(): void;
  place: number;
}

export class Waits {
  private count = 0;
  private readonly underWay = new Placed<UnderWay>();
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

  get size(): number {
    return this.count;
  }

  /** Waits for as long as somebody is there to be answered. */
  async hold<T>(response: ServerResponse, waitMs: number, until: Wait<T>): Promise<T | undefined> {
    if (this.isDraining || response.destroyed) return until(0);
    const abort = new PlainAbort();
    const hangUp = () => abort.abort();
    const wait = { abort: hangUp, place: 0 };
    this.underWay.add(wait);
    response.on('close', hangUp);
    try {
      return await until(waitMs, abort);
    } finally {
      this.underWay.delete(wait);
      response.off('close', hangUp);
    }
  }

  /** What comes first: the promise, or the server's drain, which gives undefined. */
  async untilDrained<T>(promise: Promise<T>): Promise<{ value: T } | undefined> {
    let abort!: () => void;
    const drained = new Promise<undefined>((resolve) => {
      abort = () => resolve(undefined);
    });
    const wait = { abort, place: 0 };
    this.underWay.add(wait);
    if (this.isDraining) abort();
    try {
      return await Promise.race([promise.then((value) => ({ value })), drained]);
    } finally {
      this.underWay.delete(wait);
    }
  }

  /** Ends all waits, now and from now on; those calls answer with what is known. */
  drain(): void {
    this.isDraining = true;
    for (const wait of this.underWay.all()) wait.abort();
  }
}
