/**
 * The large answers that are on their way to callers who may not read them.
 *
 * 1. While what waits to be read is beyond the bound, new calls are told to come back.
 * 2. Calls that were let in before are answered all the same, and make room at the cost of those who have had the
 *    longest time to read: their connections end. They can ask again.
 */
import type { ServerResponse } from 'node:http';
import { monotonicMs } from '../../core/clock.js';
import { PerdureError } from '../../core/errors.js';

/** Whatever is smaller fits into the buffers of the system, or is a matter of the number of connections. */
const SMALL_BYTES = 16 * 1024;
/** A caller who reads has taken the largest answer by then. */
const TIME_TO_READ_MS = 2_000;

export class Outgoing {
  #bytes = 0;
  /** The oldest first. */
  readonly #answers = new Map<ServerResponse, { bytes: number; since: number }>();

  constructor(private readonly maxBytes: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Why no call is let in, if none is. */
  refusal(): PerdureError | undefined {
    if (this.#bytes <= this.maxBytes) return undefined;
    this.#makeRoom();
    return new PerdureError(
      'TooManyRequestsError',
      'Too many large answers wait to be read; try again shortly',
    );
  }

  /** So many bytes are about to be written. */
  add(response: ServerResponse, bytes: number): void {
    if (bytes <= SMALL_BYTES || response.destroyed) return;
    this.#answers.set(response, { bytes, since: monotonicMs() });
    this.#bytes += bytes;
    response.once('close', () => this.#remove(response));
    if (this.#bytes > this.maxBytes) this.#makeRoom();
  }

  #makeRoom(): void {
    const now = monotonicMs();
    for (const [response, { since }] of this.#answers) {
      if (this.#bytes <= this.maxBytes || now - since < TIME_TO_READ_MS) return;
      response.destroy();
      this.#remove(response);
    }
  }

  #remove(response: ServerResponse): void {
    this.#bytes -= this.#answers.get(response)?.bytes ?? 0;
    this.#answers.delete(response);
  }
}
