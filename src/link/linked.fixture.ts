/** The server's end of the link with a source that keeps what arrives, anew for each test, and workers' ends that dial it. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach } from 'vitest';
import { WebSocket } from 'ws';
import { type Log, silentLog } from '../core/log.js';
import type { FromWorker, ToWorker } from '../core/task.js';
import type { TaskSource } from '../engine.js';
import { LinkClient } from './client.js';
import { linkUrl } from './protocol.js';
import { attachWorkerLink, type WorkerLink, type WorkerLinkOptions } from './server.js';

export const TOKEN = 'a token that is long enough for everybody';

/** Keeps what arrives, and lets a test wait for the next thing. */
export class Inbox<T> {
  readonly items: T[] = [];
  #waiting: (() => void)[] = [];
  add(item: T): void {
    this.items.push(item);
    for (const wake of this.#waiting.splice(0)) wake();
  }
  async atLeast(count: number): Promise<T[]> {
    while (this.items.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.items;
  }
}

class FakeSource implements TaskSource {
  readonly received = new Inbox<FromWorker>();
  readonly senders: ((message: ToWorker) => void)[] = [];
  readonly connected = new Inbox<number>();
  readonly disconnected = new Inbox<number>();
  throwOn: FromWorker['kind'] | undefined;
  connect(send: (message: ToWorker) => void) {
    const id = this.senders.push(send) - 1;
    this.connected.add(id);
    return {
      receive: (message: FromWorker) => {
        if (message.kind === this.throwOn) throw new Error('our own bug');
        this.received.add(message);
      },
      disconnected: () => this.disconnected.add(id),
    };
  }
}

export let server: Server;
export let source: FakeSource;
export let link: WorkerLink;
export let warnings: Inbox<string>;
export let url: string;
let log: Log;
const clients: LinkClient[] = [];

export async function listen(options: Partial<WorkerLinkOptions> = {}, port = 0): Promise<void> {
  server = createServer((_request, response) => response.end('plain'));
  link = attachWorkerLink(server, source, {
    authorize: ({ headers: { authorization } }) =>
      authorization === 'Bearer guessed too often'
        ? { retryAfterSeconds: 7 }
        : authorization === `Bearer ${TOKEN}`,
    log,
    ...options,
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function listenAnew(options: Partial<WorkerLinkOptions>): Promise<void> {
  await close();
  await listen(options);
}

async function close(): Promise<void> {
  await link.close();
  await new Promise((resolve) => server.close(resolve));
}

export function connect(options: Partial<ConstructorParameters<typeof LinkClient>[0]> = {}) {
  const messages = new Inbox<ToWorker[]>();
  const opened = new Inbox<true>();
  const closed = new Inbox<true>();
  const client = new LinkClient({
    serverUrl: url,
    token: TOKEN,
    log: silentLog,
    minRetryMs: 1,
    onOpen: () => opened.add(true),
    onMessages: (batch) => messages.add(batch),
    onClose: () => closed.add(true),
    ...options,
  });
  clients.push(client);
  return { client, messages, opened, closed };
}

export const raw = (
  headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
  target = linkUrl(url),
) => new WebSocket(target, { headers });

beforeEach(async () => {
  source = new FakeSource();
  warnings = new Inbox();
  log = { ...silentLog, warn: (_fields, message) => warnings.add(message) };
  await listen();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await close();
});
