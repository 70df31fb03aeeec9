/** Many callers at once: every call has a connection of its own, and nobody waits for anybody. */
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from 'node:http';
import { text } from 'node:stream/consumers';

export interface Reply {
  /** 0 when the connection broke before an answer came. */
  status: number;
  retryAfter: string | undefined;
  body: string;
}

export interface Call {
  method?: string;
  path: string;
  body?: string;
  headers?: OutgoingHttpHeaders;
}

export class Crowd {
  readonly #agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  #made = 0;

  constructor(readonly port: number) {}

  async call(call: Call): Promise<Reply> {
    try {
      const response = await this.begin(call);
      const retryAfter = response.headers['retry-after'];
      return { status: response.statusCode!, retryAfter, body: await text(response) };
    } catch (error) {
      return { status: 0, retryAfter: undefined, body: String(error) };
    }
  }

  post(path: string, body: unknown): Promise<Reply> {
    return this.call({ path, body: JSON.stringify(body) });
  }

  /** The answer without its body, for whoever wants to read it at leisure, or never. */
  begin(call: Call): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const asked = this.send(call);
      asked.on('response', resolve);
      asked.on('error', reject);
    });
  }

  /** The request alone, for whoever hangs up. */
  send({ method, path, body, headers }: Call): ClientRequest {
    const asked = request({
      host: '127.0.0.1',
      port: this.port,
      path,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      agent: this.#agent,
      // One address has 28,000 ports, and each stays taken for a minute after its connection has ended.
      localAddress: `127.0.1.${1 + (this.#made++ % 250)}`,
      headers: {
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    });
    asked.end(body);
    return asked;
  }
}

/** How many of each status there were. */
export function tally(replies: readonly Reply[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
