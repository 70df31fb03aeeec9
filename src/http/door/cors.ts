/**
 * Which web pages of other origins may call. None, unless their origins are listed.
 *
 * A preflight carries no credentials, so it is answered before anybody asks for them. The pages send the token in a
 * header of their own; cookies and what the browser has saved are never asked for.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

const ALLOWED_METHODS = 'GET, POST, PATCH';
const ALLOWED_HEADERS = 'Authorization, Content-Type, Last-Event-ID, X-Request-ID, Idempotency-Key';
/** What a page may read of an answer beside the body. */
const EXPOSED_HEADERS = 'X-Request-ID, Retry-After, Deprecation, Sunset, Link, Allow';
const PREFLIGHT_SECONDS = 600;

export class Cors {
  private readonly origins: ReadonlySet<string>;

  /** @throws Error for what is not an origin */
  constructor(origins: readonly string[]) {
    this.origins = new Set(origins.map(parseOrigin));
  }

  allows(origin: string): boolean {
    return this.origins.has(origin);
  }

  /** The headers of every answer. */
  stamp({ headers }: FastifyRequest, reply: FastifyReply): void {
    if (this.origins.size === 0) return;
    // Also for those who come from nowhere: a cache must not hand one caller's answer to the other.
    reply.header('vary', 'Origin');
    if (headers.origin === undefined || !this.allows(headers.origin)) return;
    reply
      .header('access-control-allow-origin', headers.origin)
      .header('access-control-expose-headers', EXPOSED_HEADERS);
  }

  /** Whether the request is the browser's question if it may call, which is then answered. */
  answerPreflight({ method, headers }: FastifyRequest, reply: FastifyReply): boolean {
    const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    if (!isPreflight || headers.origin === undefined || !this.allows(headers.origin)) return false;
    reply
      .code(204)
      .header('access-control-allow-methods', ALLOWED_METHODS)
      .header('access-control-allow-headers', ALLOWED_HEADERS)
      .header('access-control-max-age', PREFLIGHT_SECONDS)
      .send();
    return true;
  }
}

/** The origin as browsers write it. @throws Error for what is none */
export function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin =
    url && /^https?:$/.test(url.protocol) && text.replace(/\/$/, '').toLowerCase() === url.origin;
  if (!isOrigin) throw new Error(`"${text}" is not an origin such as https://app.example.com`);
  return url.origin;
}
