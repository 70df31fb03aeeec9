/** How long and how often a server that cannot be had is asked again. */
import { pause } from './bounded.js';
import { ClientError } from './errors.js';

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;

export class Patience {
  #failures = 0;
  #since = 0;

  constructor(
    private readonly retryForMs: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** It answered: what comes later is another trouble. */
  restore(): void {
    this.#failures = 0;
  }

  /** As `restore`, once it has served for so long that its end is no part of the trouble before. */
  restoreAfter(servedMs: number): void {
    if (servedMs >= Math.min(MAX_DELAY_MS, this.retryForMs)) this.restore();
  }

  /** Resolves when it may be asked again. @throws the error when there is no time left for that */
  async wait(error: unknown): Promise<void> {
    const now = performance.now();
    if (this.#failures === 0) this.#since = now;
    const ceiling = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#failures++);
    // Half of it by chance, so that clients which lost the same server do not come back as one.
    const backoff = ceiling * (0.5 + Math.random() / 2);
    const asked = error instanceof ClientError ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(backoff, asked);
    if (now + delay > this.#since + this.retryForMs) throw error;
    await pause(delay, this.signal);
    // A machine or a tab that slept meanwhile has not asked in that time, and the network is back only after it is.
    this.#since += performance.now() - now - delay;
  }
}

/** Seconds or a date, as HTTP has it; undefined for anything else. */
export function retryAfterMs(header: string | null): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
