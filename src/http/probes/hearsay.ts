/**
 * What the thread of the probes knows of the main thread: since when that one owes an answer, and what it said last of
 * whether it is ready. Pure, with the time given.
 */

/** A main thread that has been silent for this long is stuck, and not busy. */
export const STUCK_MS = 10_000;

/** How long a probe waits for what the main thread says now. */
const PATIENCE_MS = 50;
/** Where its last word is older than that of a probe before would be: longer than a look at a cluster takes. */
const PATIENCE_WITH_AN_OLD_WORD_MS = 2_500;
const OLD_MS = 10_000;

export class Hearsay {
  #owesSince: number | undefined;
  /** Undefined before it has said anything. */
  #said: { whyNot: string | undefined; at: number } | undefined;

  /** Whether it has to be asked, which is only where it owes no answer yet: otherwise a flood of probes would be one of questions. */
  mustAsk(now: number): boolean {
    if (this.#owesSince !== undefined) return false;
    this.#owesSince = now;
    return true;
  }

  isAlive(): void {
    this.#owesSince = undefined;
  }

  readiness(whyNot: string | undefined, now: number): void {
    this.#said = { whyNot, at: now };
  }

  patienceMs(now: number): number {
    if (this.#said === undefined) return STUCK_MS;
    return now - this.#said.at < OLD_MS ? PATIENCE_MS : PATIENCE_WITH_AN_OLD_WORD_MS;
  }

  /** Undefined while it turns; otherwise what is wrong with it. */
  whyNotHealthy(now: number): string | undefined {
    const silentMs = now - (this.#owesSince ?? now);
    if (silentMs < STUCK_MS) return undefined;
    return `the server has not turned to anything else for ${Math.floor(silentMs / 1_000)} s`;
  }

  whyNotReady(now: number): string | undefined {
    const stuck = this.whyNotHealthy(now);
    if (stuck !== undefined) return stuck;
    return this.#said ? this.#said.whyNot : 'the server is starting';
  }
}
