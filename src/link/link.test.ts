import { once } from 'node:events';
import { type AddressInfo, connect as connectSocket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { silentLog } from '../core/log.js';
import type { ToWorker } from '../core/task.js';
import { connect, Inbox, link, listen, listenAnew, raw, server, source, url } from './linked.fixture.js';
import { LINK_PATH, LINK_VERSION } from './protocol.js';

const FORGET: ToWorker = { kind: 'forget', runId: 'r' };

const refusal = async (socket: WebSocket) => {
  const [, response] = await once(socket, 'unexpected-response');
  let body = '';
  for await (const chunk of response) body += chunk;
  socket.on('error', () => {});
  socket.terminate();
  return { status: response.statusCode as number, body, headers: response.headers };
};

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
    await listen({}, port);
    await opened.atLeast(2);
    expect(source.disconnected.items).toEqual([0]);
    expect(closed.items).toHaveLength(1);
  });

  test('lasts while the server has nothing to say but that it is there', async () => {
    await listenAnew({ pingIntervalMs: 5 });
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
