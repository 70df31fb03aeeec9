/** The other side of the HTTP helpers: a server that keeps what it was sent and answers as the path says. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export class Counterpart {
  readonly received: ReceivedRequest[] = [];
  readonly #arrivals = new EventEmitter();
  readonly #server: Server;

  private constructor(onRequest: (request: ReceivedRequest) => void) {
    this.#server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const received: ReceivedRequest = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body,
      };
      this.received.push(received);
      this.#arrivals.emit('request');
      // The hook comes before the answer, so that what it causes can overtake it.
      await onRequest(received);
      if (request.url!.startsWith('/fail')) {
        response.writeHead(500, { 'content-type': 'application/json' });
        response.end('{"problem":"on purpose"}');
        return;
      }
      response.writeHead(request.url!.startsWith('/created') ? 201 : 200, {
        'content-type': request.url!.startsWith('/text') ? 'text/plain' : 'application/json',
        'x-answer': 'yes',
      });
      response.end(request.url!.startsWith('/text') ? 'just text' : JSON.stringify({ echoed: body || null }));
    });
  }

  static async start(onRequest: (request: ReceivedRequest) => unknown = () => {}): Promise<Counterpart> {
    const counterpart = new Counterpart(onRequest);
    counterpart.#server.listen(0, '127.0.0.1');
    await once(counterpart.#server, 'listening');
    return counterpart;
  }

  /** Resolves once that many requests have come. */
  async until(count: number): Promise<void> {
    while (this.received.length < count)
      await once(this.#arrivals, 'request', { signal: AbortSignal.timeout(60_000) });
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
