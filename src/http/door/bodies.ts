/**
 * The large bodies that are under way. Each may be as large as a payload, and there may be as many of them as there are
 * connections, so without a bound of their sum callers could fill the memory before anything of theirs is looked at.
 *
 * A body is counted as what it says of its size when it begins, and until its call is answered, since the call keeps it
 * for so long; a call that goes on to wait for a run has handed it over. Small bodies are not counted: what they take
 * together is bounded by the number of connections.
 *
 * They are read one in a round of the loop. To read one, and to do what its call asks for, takes tens of milliseconds;
 * many that came to their end in one round would keep everybody else, and the health of the server, waiting for all of
 * them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpLimits } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';

const SMALL_BYTES = 16 * 1024;

/** Whether the body is counted. One that does not say how long it is may be as long as it may be. */
export const hasLargeBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BYTES;

export class Bodies {
  #bytes = 0;
  readonly #unread: { connection: object; read: () => void }[] = [];
  readonly #held = new WeakMap<ServerResponse, number>();

  constructor(private readonly limits: Pick<HttpLimits, 'bodyBytes' | 'bodiesBytes'>) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a place for the body of the request, or says why there is none. */
  enter(request: IncomingMessage, response: ServerResponse): PerdureError | undefined {
    if (!hasLargeBody(request)) return undefined;
    const bytes = this.#announced(request);
    // One that is too large is refused for that, unread.
    if (bytes > this.limits.bodyBytes) return undefined;
    if (this.#bytes + bytes > this.limits.bodiesBytes) {
      return new PerdureError(
        'TooManyRequestsError',
        'Too many large bodies are under way; try again shortly',
      );
    }
    this.#bytes += bytes;
    this.#held.set(response, bytes);
    response.once('close', () => this.leave(response));
    return undefined;
  }

  /** What the call was given is no longer its own. */
  leave(response: ServerResponse): void {
    this.#bytes -= this.#held.get(response) ?? 0;
    this.#held.delete(response);
  }

  /** Calls `read` when it is its turn: at once for a small body, unless a large one came before it on its connection. */
  inTurn(connection: object, bytes: number, read: () => void): void {
    const isBehindLarge = this.#unread.some((before) => before.connection === connection);
    if (bytes <= SMALL_BYTES && !isBehindLarge) {
      read();
      return;
    }
    this.#unread.push({ connection, read });
    if (this.#unread.length === 1) setImmediate(() => this.#readNext());
  }

  #readNext(): void {
    try {
      this.#unread[0]!.read();
    } finally {
      this.#unread.shift();
      if (this.#unread.length > 0) setImmediate(() => this.#readNext());
    }
  }

  #announced({ headers }: IncomingMessage): number {
    if (headers['transfer-encoding'] !== undefined) return this.limits.bodyBytes;
    return Number(headers['content-length'] ?? 0);
  }
}
