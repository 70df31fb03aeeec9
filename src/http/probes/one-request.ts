/**
 * One request of a connection, and its answer. Read by hand: whoever reaches the port may send requests ahead of their answers,
 * and Node's own server makes objects of all that arrive together before anybody can refuse them, enough to fill a thread.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

export interface Request {
  method: string;
  path: string;
}

export interface Answer {
  status: number;
  body: object;
}

const MAX_HEAD_CHARACTERS = 16 * 1024;
/** For the head to arrive. */
const HEAD_MS = 5_000;
/** For what else was sent to be read and forgotten: closing before that would reset the connection, and the answer with it. */
const LINGER_MS = 1_000;
const REQUEST = /^([A-Z]+) (\/[^ ?]*)(?:\?[^ ]*)? HTTP\/1\.[01]\r\n/;

/** Undefined for what is no request. */
function requestIn(head: string): Request | undefined {
  const [line, method = '', path = ''] = REQUEST.exec(head) ?? [];
  return line === undefined ? undefined : { method, path };
}

/** Resolves once the head is there, to what it asks; the connection is closed where none comes. */
export function requestOf(socket: Socket): Promise<Request | undefined> {
  return new Promise((resolve) => {
    let head = '';
    const giveUp = setTimeout(() => socket.destroy(), HEAD_MS);
    socket.once('close', () => clearTimeout(giveUp));
    const take = (part: string) => {
      head = (head + part).slice(0, MAX_HEAD_CHARACTERS);
      if (!head.includes('\r\n\r\n') && head.length < MAX_HEAD_CHARACTERS) return;
      clearTimeout(giveUp);
      socket.off('data', take).off('end', leave).pause();
      resolve(requestIn(head));
    };
    const leave = () => socket.destroy();
    socket.setEncoding('latin1').on('data', take).on('end', leave);
  });
}

export function answer(socket: Socket, request: Request | undefined, { status, body }: Answer): void {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-length: ${Buffer.byteLength(text)}`,
    'content-type: application/json; charset=utf-8',
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'connection: close',
  ].join('\r\n');
  socket.end(`${head}\r\n\r\n${request?.method === 'HEAD' ? '' : text}`);
  socket.resume();
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(late));
}
