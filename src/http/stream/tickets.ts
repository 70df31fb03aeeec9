/**
 * Tickets: what a browser's EventSource, which cannot send headers, shows in place of the token.
 *
 * 1. A ticket opens one stream of one workflow within a minute. It carries its own proof, so every server that knows
 *    the secret accepts it, whichever of them issued it.
 * 2. A server accepts a ticket once. Servers do not tell each other, so with several of them it is once at each.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../../core/clock.js';

const LIFETIME_MS = 60_000;
/** Tickets that were shown within the last minute, of 16 random bytes each. */
const MAX_USED = 100_000;

const TIME_BYTES = 6;
const NONCE_BYTES = 16;
const PROOF_BYTES = 32;

export interface TicketOptions {
  /** What servers share: tickets are issued with the first and accepted with any. By default it is this server's own. */
  secrets?: readonly string[];
  clock?: Pick<Clock, 'now'>;
  limit?: number;
}

export class Tickets {
  readonly #secrets: readonly (string | Buffer)[];
  readonly #clock: Pick<Clock, 'now'>;
  readonly #limit: number;
  /** When they expire, oldest first but for what clocks of other servers add to it. */
  readonly #used = new Map<string, number>();

  constructor({ secrets, clock = systemClock, limit = MAX_USED }: TicketOptions = {}) {
    this.#secrets = secrets ?? [randomBytes(PROOF_BYTES)];
    this.#clock = clock;
    this.#limit = limit;
  }

  issue(workflowId: string): { ticket: string; expiresAt: number } {
    const expiresAt = this.#clock.now() + LIFETIME_MS;
    const claim = Buffer.alloc(TIME_BYTES + NONCE_BYTES);
    claim.writeUIntBE(expiresAt, 0, TIME_BYTES);
    randomBytes(NONCE_BYTES).copy(claim, TIME_BYTES);
    const proof = prove(this.#secrets[0]!, claim, workflowId);
    return { ticket: Buffer.concat([claim, proof]).toString('base64url'), expiresAt };
  }

  /** Whether the ticket opens a stream of this workflow; from now on it opens none here. */
  redeem(ticket: string, workflowId: string): boolean {
    const bytes = Buffer.from(ticket, 'base64url');
    if (bytes.length !== TIME_BYTES + NONCE_BYTES + PROOF_BYTES) return false;
    const claim = bytes.subarray(0, TIME_BYTES + NONCE_BYTES);
    const proof = bytes.subarray(TIME_BYTES + NONCE_BYTES);
    const isProven = this.#secrets.some((secret) => timingSafeEqual(proof, prove(secret, claim, workflowId)));
    const expiresAt = claim.readUIntBE(0, TIME_BYTES);
    if (!isProven || this.#clock.now() >= expiresAt) return false;
    return this.#use(claim.toString('base64url'), expiresAt);
  }

  #use(claim: string, expiresAt: number): boolean {
    this.#forgetExpired();
    // To forget a used one would let it be used again, so a new one is refused.
    if (this.#used.has(claim) || this.#used.size >= this.#limit) return false;
    this.#used.set(claim, expiresAt);
    return true;
  }

  #forgetExpired(): void {
    const now = this.#clock.now();
    for (const [claim, expiresAt] of this.#used) {
      if (expiresAt > now) return;
      this.#used.delete(claim);
    }
  }
}

function prove(secret: string | Buffer, claim: Buffer, workflowId: string): Buffer {
  return createHmac('sha256', secret)
    .update('perdure stream ticket\0')
    .update(claim)
    .update(workflowId)
    .digest();
}
