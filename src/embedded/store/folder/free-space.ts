/**
 * The space that is left for the data folder. New runs and messages are taken only while there is enough of it for what
 * follows from them; what runs goes on.
 */
import { statfsSync } from 'node:fs';
import type { Scheduler } from '../../../core/clock.js';
import { PerdureError } from '../../../core/errors.js';
import type { Log } from '../../../core/log.js';

/** So that every call may ask. */
const LOOK_EVERY_MS = 1_000;

/** After which a caller who was refused should ask again. */
export const RETRY_AFTER_SECONDS = 5;

export class FreeSpace {
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isLow = false;

  constructor(
    private readonly freeBytes: () => number,
    private readonly lowWaterBytes: number,
    private readonly scheduler: Scheduler,
    private readonly log: Log,
  ) {}

  /** `isFull`: the last commit found no space at all. @throws StorageFullError */
  require(isFull: boolean): void {
    if (!isFull && !this.#looksLow()) return;
    throw new PerdureError(
      'StorageFullError',
      `the disk of the server is ${isFull ? 'full' : 'nearly full'}: starts and messages are refused until there is space; runs can be read, stopped and terminated`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }

  #looksLow(): boolean {
    const now = this.scheduler.monotonicMs();
    if (this.lowWaterBytes === 0 || now - this.#lookedAt < LOOK_EVERY_MS) return this.#isLow;
    this.#lookedAt = now;
    const freeBytes = this.freeBytes();
    const wasLow = this.#isLow;
    this.#isLow = freeBytes < this.lowWaterBytes;
    if (this.#isLow && !wasLow) {
      this.log.warn(
        { freeBytes },
        'little space is left: starts and messages are refused, what runs goes on',
      );
    } else if (wasLow && !this.#isLow) {
      this.log.info({ freeBytes }, 'there is space again: starts and messages are taken');
    }
    return this.#isLow;
  }
}

/** Bytes that this user may still write there; without an answer there is no reason to refuse anybody. */
export function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
