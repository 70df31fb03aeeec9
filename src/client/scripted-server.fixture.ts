/** A server that answers as a test says, one call after the other: for what no real one does on demand. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  method: string;
  /** With the query. */
  target: string;
  headers: IncomingMessage['headers'];
  /** What was sent as JSON; undefined for nothing. */
  body: unknown;
}

export type Answerer = (response: ServerResponse, received: Received) => void | Promise<void>;

export class ScriptedServer {
  readonly received: Received[] = [];
  readonly #script: Answerer[] = [];
  readonly #server: Server;
  port = 0;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that are open. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  }

  async listen(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** The answers to the next calls; the last one is repeated. */
  script(...answers: Answerer[]): this {
    this.#script.push(...answers);
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const received: Received = {
      method: request.method!,
      target: request.url!,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    this.received.push(received);
    const answer = this.#script.length > 1 ? this.#script.shift() : this.#script[0];
    if (!answer) response.writeHead(500).end('the script has no answer');
    else await answer(response, received);
  }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answerer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

export const error = (status: number, name: string, more: object = {}, headers = {}): Answerer =>
  json(status, { error: name, message: `it is ${name}`, ...more }, headers);

/** Breaks the connection before a word of an answer. */
export const hangUp: Answerer = (response) => {
  response.destroy();
};

/** Breaks it in the middle of the body. */
export const cutOff =
  (text: string): Answerer =>
  (response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': String(text.length + 10),
    });
    response.write(text, () => response.destroy());
  };

/** Says nothing, and holds the connection. */
export const silence: Answerer = () => {};

/** A stream of these frames; then it ends, or breaks, or goes on without a word. */
export const stream =
  (texts: string[], end: 'ends' | 'breaks' | 'stays' = 'ends'): Answerer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(texts.join(''), () => {
      if (end === 'ends') response.end();
      if (end === 'breaks') response.destroy();
    });
  };
