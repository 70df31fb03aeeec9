/** Answers what is no HTTP request at all; Node has not made a request of it, so nothing else can. */
import { type IncomingMessage, maxHeaderSize, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PerdureError } from '../../core/errors.js';
import { requestId } from '../../core/values/request-id.js';
import { errorBody } from '../wire/errors.js';
import { isOwedAnswers, owe } from './unanswered.js';

interface Refusal {
  status: string;
  message: string;
}

const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: `The path and the headers of a request may take ${maxHeaderSize} bytes`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'The request did not arrive in time, and nothing was done',
  },
};
const NO_REQUEST: Refusal = { status: '400 Bad Request', message: 'This is not a valid HTTP request' };

export class Malformed {
  /** What is said on a connection when it is owed no answer any more. */
  readonly #lastWords = new WeakMap<Socket, () => void>();

  watch(server: Server): void {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      owe(request, response, (socket) => {
        if (!isOwedAnswers(socket)) this.#lastWords.get(socket)?.();
      });
    });
  }

  refuse(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const say = () => farewell(socket, REFUSALS[error.code ?? ''] ?? NO_REQUEST);
    if (isOwedAnswers(socket)) this.#lastWords.set(socket, say);
    else say();
  }
}

function farewell(socket: Socket, { status, message }: Refusal): void {
  const body = errorBody(new PerdureError('ValidationError', message));
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      `X-Request-ID: ${requestId({})}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
    // A peer that does not end its side would keep the socket otherwise, beyond every timeout.
    () => socket.destroy(),
  );
}
