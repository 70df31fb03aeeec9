/**
 * Counts wrong tokens per address, so that a client with an old one is told to come back later, and guessing is seen. A right
 * token is never counted and never refused for what others at its address do, or whoever shares an address could keep the
 * others out; so this does not slow a guesser down: what keeps him out is the length of the token.
 */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';

const WINDOW_MS = 60_000;
/** Some megabytes. Beyond it the address that began longest ago is forgotten, which costs a guesser an address each. */
const MAX_ADDRESSES = 10_000;

export class WrongTokens {
  /** The one that began last stands last. */
  private readonly byAddress = new Map<string, { count: number; endsAt: number }>();

  constructor(
    private readonly allowed: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts one. Seconds until the address may be wrong again, or undefined while it may. */
  count(request: IncomingMessage): number | undefined {
    const address = networkOf(request.socket.remoteAddress ?? '');
    const now = this.now();
    let known = this.byAddress.get(address);
    if (known === undefined || known.endsAt <= now) {
      this.byAddress.delete(address);
      known = { count: 0, endsAt: now + WINDOW_MS };
      this.byAddress.set(address, known);
      if (this.byAddress.size > MAX_ADDRESSES) this.byAddress.delete(this.byAddress.keys().next().value!);
    }
    known.count++;
    return known.count > this.allowed ? Math.ceil((known.endsAt - now) / 1_000) : undefined;
  }

  get size(): number {
    return this.byAddress.size;
  }
}

/** Who has one address of IPv6 has the 2^64 beside it as well. */
export function networkOf(address: string): string {
  const mapped = address.toLowerCase().startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (!isIPv6(mapped)) return mapped;
  const [head = '', tail] = mapped.split('%', 1)[0]!.split('::');
  const leading = head === '' ? [] : head.split(':');
  const trailing = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(Math.max(0, 8 - leading.length - trailing.length)).fill('0');
  return [...leading, ...zeros, ...trailing].slice(0, 4).join(':');
}
