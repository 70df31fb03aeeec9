/**
 * The connections of the server: how many there may be, and when one is ended that nobody is at the other end of.
 *
 * 1. Calls on those beyond the bound are told so, and probes of the health are answered; far beyond it, connections are
 *    ended without a word.
 * 2. A peer that takes nothing of what is written for it, for `stallMs`, is left. One that is gone without a word is
 *    found by the system's own probes, also while its call waits and nothing is written at all.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpLimits } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';

/** Connections beyond the bound that are told so: a tenth of those that may be, and so many at most. */
const TOLD = 200;

export class Connections {
  #open = 0;

  constructor(
    server: Server,
    private readonly limits: Pick<HttpLimits, 'connections' | 'stallMs'>,
    onArrival: () => void,
  ) {
    const { connections, stallMs } = limits;
    server.maxConnections = connections + Math.min(TOLD, Math.ceil(connections / 10));
    server.on('connection', (socket: Socket) => {
      this.#open++;
      socket.once('close', () => this.#open--);
      onArrival();
    });
    server.setTimeout(stallMs, (socket) => {
      // Node sets another time on a connection that waits for its next request, and leaves it to us to end it.
      if (socket.timeout !== stallMs || socket.writableLength > 0) socket.destroy();
    });
  }

  get open(): number {
    return this.#open;
  }

  /** Why no call is let in, if none is. */
  refusal(): PerdureError | undefined {
    return this.#open <= this.limits.connections
      ? undefined
      : new PerdureError('EngineUnavailableError', 'Too many connections are open; try again shortly', {
          retryAfterSeconds: 1,
        });
  }
}
