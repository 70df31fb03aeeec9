import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect as connectSocket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Log, silentLog } from '../core/log.js';
import type { FromWorker, ToWorker } from '../core/task.js';
import type { TaskSource } from '../engine.js';
import { LinkClient } from './client.js';
import { LINK_PATH, LINK_VERSION, linkUrl, packFrames, unpackFrame } from './protocol.js';
import { attachWorkerLink, type WorkerLink } from './server.js';

const TOKEN = 'a token that is long enough for everybody';
const FORGET: ToWorker = { kind: 'forget', runId: 'r' };

function nested(levels: number): object {
  let schema: object = { type: 'string' };
  for (let i = 0; i < levels; i++) schema = { not: schema };
  return schema;
}

/** Keeps what arrives, and lets a test wait for the next thing. */
class Inbox<T> {
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

let server: Server;
let source: FakeSource;
let link: WorkerLink;
let warnings: Inbox<string>;
let log: Log;
let url: string;
const clients: LinkClient[] = [];

async function listen(
  options: { pingIntervalMs?: number; silenceMs?: number; maxBufferedBytes?: number } = {},
) {
  server = createServer((_request, response) => response.end('plain'));
  link = attachWorkerLink(server, source, {
    authorize: ({ headers: { authorization } }) =>
      authorization === 'Bearer guessed too often'
        ? { retryAfterSeconds: 7 }
        : authorization === `Bearer ${TOKEN}`,
    log,
    ...options,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function connect(options: Partial<ConstructorParameters<typeof LinkClient>[0]> = {}) {
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

const raw = (headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }, target = linkUrl(url)) =>
  new WebSocket(target, { headers });

const refusal = async (socket: WebSocket) => {
  const [, response] = await once(socket, 'unexpected-response');
  let body = '';
  for await (const chunk of response) body += chunk;
  socket.on('error', () => {});
  socket.terminate();
  return { status: response.statusCode as number, body, headers: response.headers };
};

beforeEach(async () => {
  source = new FakeSource();
  warnings = new Inbox();
  log = { ...silentLog, warn: (_fields, message) => warnings.add(message) };
  await listen();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await link.close();
  await new Promise((resolve) => server.close(resolve));
});

describe('a connection', () => {
  test('carries messages both ways, in order, what is sent together in one frame', async () => {
    const { client, messages, opened } = connect();
    await opened.atLeast(1);
    for (let i = 0; i < 10; i++) client.send({ kind: 'turnMissed', turnId: i, runId: `run ${i}` });
    const received = await source.received.atLeast(10);
    expect(received.map((message) => message.kind === 'turnMissed' && message.turnId)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);

    for (let i = 0; i < 10; i++) source.senders[0]!({ kind: 'forget', runId: `run ${i}` });
    const [batch] = await messages.atLeast(1);
    expect(batch).toHaveLength(10);
    expect(link.connections()).toBe(1);
  });

  test('tells both sides when it ends, once, and the worker dials again', async () => {
    const { opened, closed } = connect();
    await opened.atLeast(1);
    await link.close();
    await closed.atLeast(1);
    await source.disconnected.atLeast(1);
    await new Promise((resolve) => server.close(resolve));

    const port = Number(new URL(url).port);
    server = createServer();
    link = attachWorkerLink(server, source, { authorize: () => true, log });
    server.listen(port, '127.0.0.1');
    await opened.atLeast(2);
    expect(source.disconnected.items).toEqual([0]);
    expect(closed.items).toHaveLength(1);
  });

  test('lasts while the server has nothing to say but that it is there', async () => {
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    await listen({ pingIntervalMs: 5 });
    const { opened, closed } = connect({ silenceMs: 150 });
    await opened.atLeast(1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(closed.items).toEqual([]);
  });

  test('does not send to a worker that is gone', async () => {
    const { client, opened } = connect();
    await opened.atLeast(1);
    await client.close();
    await source.disconnected.atLeast(1);
    source.senders[0]!(FORGET);
    expect(link.connections()).toBe(0);
  });

  test('carries whole histories', async () => {
    const { messages, opened } = connect();
    await opened.atLeast(1);
    source.senders[0]!({ kind: 'forget', runId: 'x'.repeat(50 * 1024 * 1024) });
    const [batch] = await messages.atLeast(1);
    expect((batch![0] as { runId: string }).runId).toHaveLength(50 * 1024 * 1024);
  });
});

describe('the door', () => {
  test.each([
    ['no header', {}],
    ['another token', { authorization: 'Bearer nonsense' }],
  ])('refuses %s before the handshake', async (_name, headers) => {
    const { status } = await refusal(raw(headers as Record<string, string>));
    expect(status).toBe(401);
    expect(source.senders).toHaveLength(0);
  });

  test('says when to come back to whoever guesses', async () => {
    const { status, body } = await refusal(raw({ authorization: 'Bearer guessed too often' }));
    expect(status).toBe(429);
    expect(body).toContain('too many wrong ones');
    expect(source.senders).toHaveLength(0);
  });

  test('refuses another version and says what to do', async () => {
    const { status, body } = await refusal(
      raw(undefined, `${url.replace('http', 'ws')}${LINK_PATH}?version=99`),
    );
    expect(status).toBe(426);
    expect(body).toContain(`version ${LINK_VERSION}`);
    expect(body).toContain('99');
  });

  test('has nothing at other paths, and leaves plain requests alone', async () => {
    const { status, body, headers } = await refusal(raw(undefined, `${url.replace('http', 'ws')}/elsewhere`));
    expect(status).toBe(404);
    expect(JSON.parse(body)).toEqual({ error: 'NotFoundError', message: expect.stringContaining('upgrade') });
    expect(headers['x-request-id']).toMatch(/^[\w-]+$/);
    expect(await (await fetch(url)).text()).toBe('plain');
  });

  test('a worker that is refused logs the reason of the server and keeps trying', async () => {
    const reasons = new Inbox<string>();
    connect({ token: 'wrong', log: { ...silentLog, error: (_fields, message) => reasons.add(message) } });
    const [reason] = await reasons.atLeast(1);
    expect(reason).toContain('the server refuses this worker (HTTP 401');
    expect(reason).toContain('token');
  });
});

describe('a worker that misbehaves loses its connection and nothing else happens', () => {
  const frame = (...messages: unknown[]) => packFrames(messages as object[])[0]!;
  const attempt = { runId: 'r', scheduledEventId: 5, attempt: 1 };
  test.each<[string, string | Buffer]>([
    ['text', 'hello'],
    ['bytes that are no frame', Buffer.from([0xc1, 0xc1, 0xff])],
    ['a frame that is no list', frame({ kind: 'draining' }).subarray(1)],
    ['an empty frame', Buffer.alloc(0)],
    ['null', frame(null)],
    ['an unknown kind', frame({ kind: 'becomeRoot' })],
    ['a kind that every object has', frame({ kind: 'constructor' })],
    ['a missing field', frame({ kind: 'turnMissed', turnId: 1 })],
    ['a turnId that is a text', frame({ kind: 'turnMissed', turnId: '1', runId: 'r' })],
    [
      'a command that does not exist',
      frame({ kind: 'turnCompleted', turnId: 1, runId: 'r', commands: [{ kind: 'toString' }], answers: [] }),
    ],
    [
      'a command without its fields',
      frame({
        kind: 'turnCompleted',
        turnId: 1,
        runId: 'r',
        commands: [{ kind: 'startTimer', timerId: '1' }],
        answers: [],
      }),
    ],
    [
      'a timer of minus one',
      frame({
        kind: 'turnCompleted',
        turnId: 1,
        runId: 'r',
        commands: [{ kind: 'startTimer', timerId: '1', durationMs: -1 }],
        answers: [],
      }),
    ],
    ['a result that is no text', frame({ kind: 'stepCompleted', result: { a: 1 }, ...attempt })],
    [
      'a failure without a type',
      frame({ kind: 'stepFailed', failure: { kind: 'application', message: 'm' }, ...attempt }),
    ],
    ['an attempt of 1.5', frame({ kind: 'stepCompleted', ...attempt, attempt: 1.5 })],
    [
      'a catalog name with a slash',
      frame({
        kind: 'register',
        catalog: 'a/b',
        workflows: [],
        slots: { turns: 1, steps: 1 },
        resultFormat: 'current',
        identity: 'x',
        codeId: 'y',
      }),
    ],
  ])('%s', async (_name, data) => {
    const socket = raw();
    await once(socket, 'open');
    const other = connect();
    await other.opened.atLeast(1);
    socket.send(data);
    await once(socket, 'close');
    await source.disconnected.atLeast(1);
    expect(await warnings.atLeast(1)).toHaveLength(1);
    expect(source.received.items).toEqual([]);
    other.client.send({ kind: 'draining' });
    await source.received.atLeast(1);
    expect(source.disconnected.items).toEqual([0]);
  });

  test.each([
    ['a schema that is nested without end', nested(1_000), /nested too deeply/],
    ['a catalog that is too large', { description: 'x'.repeat(17 * 1024 * 1024) }, /more than \d+ bytes/],
  ])('%s, and the worker is told', async (_name, inputSchema, reason) => {
    const socket = raw();
    await once(socket, 'open');
    const entry = { name: 'w', description: null, path: 'w.ts', inputSchema, outputSchema: null };
    const lists = { aliases: [], steps: [], signals: [], queries: [], updates: [] };
    socket.send(
      frame({
        kind: 'register',
        catalog: 'default',
        workflows: [{ entry: { ...entry, ...lists }, settings: {}, declaresSignals: false }],
        slots: { turns: 1, steps: 1 },
        resultFormat: 'current',
        identity: 'x',
        codeId: 'y',
      }),
    );
    const [code, text] = (await once(socket, 'close')) as [number, Buffer];
    expect(code).toBe(1008);
    expect(text.toString()).toMatch(reason);
    expect(source.received.items).toEqual([]);
  });

  test('what came before the malformed message counts, what comes after does not', async () => {
    const socket = raw();
    await once(socket, 'open');
    socket.send(
      frame({ kind: 'turnMissed', turnId: 1, runId: 'r' }, { kind: 'nonsense' }, { kind: 'draining' }),
    );
    await once(socket, 'close');
    expect(source.received.items.map(({ kind }) => kind)).toEqual(['turnMissed']);
  });

  test('a message that our own code cannot handle', async () => {
    source.throwOn = 'draining';
    const { client, closed, opened } = connect();
    await opened.atLeast(1);
    client.send({ kind: 'draining' });
    await closed.atLeast(1);
    await source.disconnected.atLeast(1);
  });

  test('silence', async () => {
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    await listen({ pingIntervalMs: 10, silenceMs: 30 });
    const socket = new WebSocket(linkUrl(url), {
      headers: { authorization: `Bearer ${TOKEN}` },
      autoPong: false,
    });
    await once(socket, 'close');
    expect((await warnings.atLeast(1))[0]).toContain('not answered');
  });

  test('a worker that answers pings is kept', async () => {
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    await listen({ pingIntervalMs: 5, silenceMs: 20 });
    const socket = raw();
    let pings = 0;
    await new Promise<void>((resolve) => socket.on('ping', () => ++pings === 20 && resolve()));
    expect(source.disconnected.items).toEqual([]);
    socket.terminate();
  });

  test('not reading', async () => {
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    await listen({ maxBufferedBytes: 1_000_000 });
    const socket = raw();
    await once(socket, 'open');
    socket.pause();
    await source.connected.atLeast(1);
    const big: ToWorker = { kind: 'forget', runId: 'x'.repeat(4_000_000) };
    for (let i = 0; i < 50 && source.disconnected.items.length === 0; i++) {
      source.senders[0]!(big);
      await new Promise(setImmediate);
    }
    expect(source.disconnected.items).toEqual([0]);
    expect(warnings.items[0]).toContain('does not read');
    socket.terminate();
  });

  test('a server that falls silent is left', async () => {
    await link.close();
    await new Promise((resolve) => server.close(resolve));
    await listen({ pingIntervalMs: 100_000 });
    const { closed, opened } = connect({ silenceMs: 30 });
    await closed.atLeast(1);
    await opened.atLeast(2);
  });
});

describe('frames', () => {
  test('carry what messages hold: any properties of failures, texts of any kind, missing values', () => {
    const messages = Array.from({ length: 200 }, (_, i) => ({
      kind: 'stepFailed',
      failure: {
        type: '✓ \0 😀',
        message: JSON.stringify('\ud800'),
        properties: { [`key ${i}`]: i, nested: { [`${i}`]: [null, 1.5, -1, 2 ** 53] } },
      },
      details: undefined,
    }));
    expect(packFrames(messages).flatMap(unpackFrame)).toEqual(messages);
  });

  test('are split where they would be too large, and a message that is too large by itself is refused', () => {
    const messages = Array.from({ length: 9 }, (_, i) => ({ kind: 'forget', runId: `${i}`.repeat(100) }));
    const frames = packFrames(messages, 400);
    expect(frames.length).toBeGreaterThan(1);
    for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(400);
    expect(frames.flatMap(unpackFrame)).toEqual(messages);
    expect(() => packFrames(messages, 50)).toThrow(/kind forget takes \d+ bytes; a frame may have 50/);
  });

  test('are split in one go, so that no message is made into text more than twice', () => {
    let made = 0;
    const messages = Array.from({ length: 16 }, () => ({
      toJSON() {
        made++;
        return { kind: 'forget', runId: 'x'.repeat(100) };
      },
    }));
    expect(packFrames(messages, 300)).toHaveLength(8);
    expect(made).toBe(2 * 16);
    expect(packFrames(messages)).toHaveLength(1);
    expect(made).toBe(3 * 16);
  });

  test('are measured in bytes', () => {
    const messages = Array.from({ length: 4 }, () => ({ kind: 'forget', runId: '東京'.repeat(20_000) }));
    const frames = packFrames(messages, 200_000);
    for (const frame of frames) expect(frame.length).toBeLessThanOrEqual(200_000);
    expect(frames.flatMap(unpackFrame)).toEqual(messages);
  });

  test('keep a property named __proto__ from becoming a prototype', () => {
    const [message] = unpackFrame(
      packFrames([JSON.parse('{"kind":"x","properties":{"__proto__":{"polluted":1}}}')])[0]!,
    );
    expect((message as { properties: object & { polluted?: unknown } }).properties.polluted).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('an upgrade of anything else', () => {
  const answerTo = (path: string) =>
    new Promise<string>((resolve, reject) => {
      // Its side stays open, whatever the server does.
      const socket = connectSocket({
        port: (server.address() as AddressInfo).port,
        host: '127.0.0.1',
        allowHalfOpen: true,
      });
      let answer = '';
      socket.on('data', (data) => {
        answer += data;
      });
      socket.on('end', () => resolve(answer));
      socket.on('error', reject);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    });

  test.each(['//', '//:99999', 'http://[', '/other', '*'])(
    'is refused and keeps no socket: %s',
    async (path) => {
      await listen();
      expect(await answerTo(path)).toMatch(/^HTTP\/1\.1 4\d\d /);
      for (let looks = 0; looks < 200; looks++) {
        const open = await new Promise<number>((resolve) =>
          server.getConnections((_, count) => resolve(count)),
        );
        if (open === 0) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      throw new Error('the socket is still open');
    },
  );
});
