import { describe, expect, it } from 'vitest';
import { Tickets } from './tickets.js';

describe('a ticket', () => {
  it('is good once, for one workflow, for a minute', () => {
    let now = 1_000;
    const tickets = new Tickets({ now: () => now });
    const first = tickets.issue('a');
    expect(first.expiresAt).toBe(61_000);
    expect(tickets.redeem(first.ticket, 'a')).toBe(true);
    expect(tickets.redeem(first.ticket, 'a')).toBe(false);
    const second = tickets.issue('a');
    expect(tickets.redeem(second.ticket, 'b')).toBe(false);
    expect(tickets.redeem(second.ticket, 'a')).toBe(false);
    const third = tickets.issue('a');
    now += 60_000;
    expect(tickets.redeem(third.ticket, 'a')).toBe(false);
    expect(tickets.redeem('', 'a')).toBe(false);
  });

  it('is refused when too many wait, until the oldest have expired', () => {
    let now = 0;
    const tickets = new Tickets({ now: () => now }, 2);
    tickets.issue('a');
    now = 30_000;
    tickets.issue('a');
    expect(() => tickets.issue('a')).toThrow('Too many tickets');
    now = 60_000;
    tickets.issue('a');
    expect(() => tickets.issue('a')).toThrow('Too many tickets');
  });
});
