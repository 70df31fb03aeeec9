/** A server in the place of an object store that takes everything, until a test says what it does instead. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ObjectStoreSettings } from '../../src/trace/index.js';

type Method = 'PUT' | 'GET' | 'DELETE';
type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

export class FaultyStore {
  readonly #server: Server;
  readonly #behaviours = new Map<string, Behaviour>();
  /** The methods of all calls so far. */
  readonly calls: string[] = [];
  /** Calls that have not been answered, and the most there were. */
  pending = 0;
  mostPending = 0;
  /** The most that the system took of one answer that had no end, in bytes: what was read of it, and its own buffers. */
  mostTaken = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const method = request.method ?? '';
      this.calls.push(method);
      this.mostPending = Math.max(this.mostPending, ++this.pending);
      const { socket } = request;
      const before = socket.bytesWritten;
      response.once('close', () => {
        this.pending--;
        const unsent = socket.writableLength;
        this.mostTaken = Math.max(this.mostTaken, socket.bytesWritten - before - unsent);
      });
      (this.#behaviours.get(method) ?? accept)(request, response);
    });
  }

  static async start(): Promise<FaultyStore> {
    const store = new FaultyStore();
    await new Promise<void>((resolve) => store.#server.listen(0, '127.0.0.1', resolve));
    return store;
  }

  get settings(): ObjectStoreSettings {
    const { port } = this.#server.address() as AddressInfo;
    return { bucket: 'traces', region: 'eu-central-1', endpoint: `http://127.0.0.1:${port}` };
  }

  on(method: Method, behaviour: Behaviour): void {
    this.#behaviours.set(method, behaviour);
  }

  /** Like a store again. */
  recover(): void {
    this.#behaviours.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const accept: Behaviour = (request, response) => {
  const status = request.method === 'DELETE' ? 204 : 200;
  request.resume().on('end', () => response.writeHead(status, { etag: '"1"' }).end());
};

/** Takes what is sent and never answers. */
export const hang: Behaviour = (request) => void request.resume();

export const answer =
  (status: number, body?: string): Behaviour =>
  (request, response) =>
    void request.resume().on('end', () => response.writeHead(status).end(body));

/** Sends the head of an answer and its beginning, and nothing more. */
export const stall =
  (beginning: string): Behaviour =>
  (_request, response) =>
    void response.writeHead(200, { 'content-length': 1_000 }).write(beginning);

/** Sends for as long as anybody reads. */
export const neverEnd =
  (status: number, beginning = ''): Behaviour =>
  (request, response) => {
    const block = Buffer.alloc(64 * 1024, ' ');
    const send = () => {
      while (response.write(block));
    };
    request.resume().on('end', () => {
      response.writeHead(status);
      response.write(beginning);
      response.on('drain', send);
      send();
    });
  };
