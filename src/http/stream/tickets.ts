/**
 * Tickets: what a browser's EventSource, which cannot send headers, shows in place of the token.
 *
 * A ticket opens one stream of one workflow, once, within a minute. Only digests are kept, so that finding one takes
 * the same time whatever was guessed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../core/clock.js';
import { PerdureError } from '../../core/errors.js';

const LIFETIME_MS = 60_000;
/** Tickets that nobody has shown yet; they are gone after a minute. */
const MAX_TICKETS = 100_000;

export class Tickets {
  /** By digest, oldest first. */
  readonly #open = new Map<string, { workflowId: string; expiresAt: number }>();

  constructor(
    private readonly clock: Clock = systemClock,
    private readonly limit = MAX_TICKETS,
  ) {}

  issue(workflowId: string): { ticket: string; expiresAt: number } {
    this.#forgetExpired();
    if (this.#open.size >= this.limit) {
      throw new PerdureError('TooManyRequestsError', 'Too many tickets are waiting to be used');
    }
    const ticket = randomBytes(32).toString('base64url');
    const expiresAt = this.clock.now() + LIFETIME_MS;
    this.#open.set(digest(ticket), { workflowId, expiresAt });
    return { ticket, expiresAt };
  }

  /** Whether the ticket opens a stream of this workflow; from now on it opens none. */
  redeem(ticket: string, workflowId: string): boolean {
    const key = digest(ticket);
    const known = this.#open.get(key);
    if (!known) return false;
    this.#open.delete(key);
    return known.workflowId === workflowId && this.clock.now() < known.expiresAt;
  }

  #forgetExpired(): void {
    const now = this.clock.now();
    for (const [key, { expiresAt }] of this.#open) {
      if (expiresAt > now) return;
      this.#open.delete(key);
    }
  }
}

const digest = (ticket: string): string => createHash('sha256').update(ticket).digest('base64');
