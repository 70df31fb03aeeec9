/**
 * Where calls wait for their turn (pace.ts), before anything is made of them: in a flood it is routing them that takes the
 * time and the memory, and meanwhile nobody else is heard, those who ask for the health least of all.
 *
 * Probes do not wait. Nor do at this point those who may not call, who would keep others from their turn and are refused at
 * once, and large bodies, which are counted first.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { inflow } from '../../core/bounds/inflow.js';
import { monotonicMs } from '../../core/clock.js';
import { hasLargeBody } from './bodies.js';
import { Pace } from './pace.js';

const PROBES = /^\/(?:health|ready)(?:$|\?)/;

/** Of a call that has had its turn, how long it waited before there was anybody to measure it. */
const WAITED_MS = Symbol('waitedMs');
type Call = IncomingMessage & { [WAITED_MS]?: number };

export class CallQueue {
  /** Puts itself before the one who handles the calls of the server. */
  constructor(
    server: Server,
    mayCall: (request: IncomingMessage) => boolean,
    private readonly pace: Pick<Pace, 'enter'> = new Pace(inflow),
  ) {
    const [handle] = server.listeners('request') as RequestListener[];
    if (handle === undefined) throw new Error('nobody handles the calls of this server');
    server.removeListener('request', handle);
    server.on('request', (request: Call, response: ServerResponse) => {
      if (PROBES.test(request.url!) || hasLargeBody(request) || !mayCall(request)) {
        handle(request, response);
        return;
      }
      const since = monotonicMs();
      this.pace.enter(() => {
        // Whoever has hung up waits for nothing.
        if (request.destroyed) return;
        request[WAITED_MS] = monotonicMs() - since;
        handle(request, response);
      });
    });
  }

  /** Calls `go` when it is the turn of the call: at once for those who have had it. */
  enter(request: Call, go: () => void): void {
    if (request[WAITED_MS] === undefined) this.pace.enter(go);
    else go();
  }

  waitedMs(request: Call): number {
    return request[WAITED_MS] ?? 0;
  }
}
