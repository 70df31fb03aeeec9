import { describe, expect, it } from 'vitest';
import { Tickets } from './tickets.js';

describe('a ticket', () => {
  it('is good once, for one workflow, for a minute', () => {
    let now = 1_000;
    const tickets = new Tickets({ clock: { now: () => now } });
    const first = tickets.issue('a');
    expect(first.expiresAt).toBe(61_000);
    expect(tickets.redeem(first.ticket, 'b')).toBe(false);
    expect(tickets.redeem(first.ticket, 'a')).toBe(true);
    expect(tickets.redeem(first.ticket, 'a')).toBe(false);
    now += 59_999;
    expect(tickets.redeem(first.ticket, 'a')).toBe(false);
    const second = tickets.issue('a');
    now += 60_000;
    expect(tickets.redeem(second.ticket, 'a')).toBe(false);
    expect(tickets.redeem('', 'a')).toBe(false);
  });

  it('cannot be made or changed by a caller', () => {
    const tickets = new Tickets();
    const { ticket } = tickets.issue('a');
    const bytes = Buffer.from(ticket, 'base64url');
    for (const [at, byte] of bytes.entries()) {
      const changed = Buffer.from(bytes);
      changed[at] = byte ^ 1;
      expect(tickets.redeem(changed.toString('base64url'), 'a')).toBe(false);
    }
    expect(new Tickets().redeem(ticket, 'a')).toBe(false);
    expect(tickets.redeem(ticket, 'a')).toBe(true);
  });

  it('is good at every server that shares a secret, also while one replaces the other', () => {
    const old = new Tickets({ secrets: ['old'] });
    const rotating = new Tickets({ secrets: ['new', 'old'] });
    const fresh = new Tickets({ secrets: ['new'] });
    expect(rotating.redeem(old.issue('a').ticket, 'a')).toBe(true);
    expect(fresh.redeem(rotating.issue('a').ticket, 'a')).toBe(true);
    expect(fresh.redeem(old.issue('a').ticket, 'a')).toBe(false);
  });

  it('is refused when more were used than can be remembered, until the oldest have expired', () => {
    let now = 0;
    const tickets = new Tickets({ clock: { now: () => now }, limit: 1 });
    const [first, second] = [tickets.issue('a'), tickets.issue('a')];
    expect(tickets.redeem(first.ticket, 'a')).toBe(true);
    expect(tickets.redeem(second.ticket, 'a')).toBe(false);
    now = 30_000;
    const third = tickets.issue('a');
    now = 60_000;
    expect(tickets.redeem(third.ticket, 'a')).toBe(true);
  });
});
