/** What all callers together may take: beyond it they are told to come back, and nobody is kept who is not there. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpLimits } from '../../core/bounds/limits.js';
import { call, engine, post, serve, server, until } from '../served.fixture.js';

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

async function open(text: string): Promise<Socket> {
  const { port } = server.raw.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const connections = () =>
  new Promise<number>((resolve) => server.raw.getConnections((_error, count) => resolve(count)));

async function untilConnections(count: number, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while ((await connections()) !== count && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await connections()).toBe(count);
}

const LARGE = JSON.stringify({ workflowName: 'echo', input: 'x'.repeat(100_000) });
const head = (body: string, framing = `Content-Length: ${body.length}`) =>
  `POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;

describe('large bodies', () => {
  it.each([
    ['with a length', head(LARGE)],
    ['without one', head('', 'Transfer-Encoding: chunked')],
  ])('%s beyond the bound are told to come back, and small ones are read', async (_how, beginning) => {
    await serve({ limits: { bodyBytes: 110_000, bodiesBytes: 230_000 } });
    const slow = [await open(beginning), await open(beginning)];
    let refused = await post('/workflow/start', LARGE);
    for (let tries = 0; refused.status === 200 && tries < 100; tries++) {
      // The two are perhaps not seen yet.
      await refused.text();
      refused = await post('/workflow/start', LARGE);
    }
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ error: 'TooManyRequestsError' });
    expect((await post('/workflow/start', { workflowName: 'echo', input: 1 })).status).toBe(200);
    for (const socket of slow) socket.destroy();
    await untilAccepted();
  });

  const untilAccepted = async () => {
    let status = 0;
    for (let tries = 0; status !== 200 && tries < 200; tries++) {
      const response = await post('/workflow/start', LARGE);
      await response.text();
      status = response.status;
    }
    expect(status).toBe(200);
  };

  it('are given up by a call that waits for its run', async () => {
    await serve({ limits: { bodiesBytes: 150_000 } });
    const body = JSON.stringify({ workflowName: 'wait', input: 'x'.repeat(100_000), workflowId: 'w' });
    const waiting = post('/workflow/run', body);
    await until(() => engine.starts.length === 1 && engine.waitingFor('w') === 1);
    expect((await post('/workflow/start', LARGE)).status).toBe(200);
    engine.end('w', { status: 'completed' });
    expect((await waiting).status).toBe(200);
  });

  it('that are refused do not cost the connection', async () => {
    await serve({ limits: { bodyBytes: 110_000, bodiesBytes: 100_100 } });
    await open(head(LARGE));
    const both = await open(
      `${head(LARGE)}${LARGE}GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    let answer = '';
    both.on('data', (chunk) => {
      answer += chunk;
    });
    await once(both, 'close');

    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 429', 'HTTP/1.1 200']);
  });
});

describe('answers that are not read', () => {
  /** More than the buffers of the system take. */
  const OUTPUT = JSON.stringify('x'.repeat(20_000_000));
  const serveLarge = async (limits: Partial<HttpLimits>) => {
    await serve({ limits });
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    engine.end('w', { status: 'completed', output: OUTPUT });
  };
  const greedy = async () => {
    const socket = await open('GET /workflow/w/result HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'readable');
    return socket;
  };

  it('beyond the bound keep others out for a moment only: who does not read is left', async () => {
    await serveLarge({ answersBytes: 50_000_000 });
    for (let i = 0; i < 3; i++) await greedy();
    const statuses: number[] = [];
    const deadline = performance.now() + 10_000;
    do {
      statuses.push((await call('/workflow/catalog')).status);
      await new Promise((resolve) => setTimeout(resolve, 20));
    } while (!(statuses.includes(429) && statuses.at(-1) === 200) && performance.now() < deadline);
    expect(statuses).toContain(429);
    expect(statuses.at(-1)).toBe(200);
    expect((await call('/health')).status).toBe(200);
  });

  it('cost the connection after a time', async () => {
    await serveLarge({ stallMs: 300 });
    const before = await connections();
    await greedy();
    expect(await connections()).toBe(before + 1);
    await untilConnections(before);
  });

  it('are sent to the end when they are read slowly', async () => {
    await serveLarge({ stallMs: 1_500 });
    const socket = await greedy();
    let bytes = 0;
    const begunAt = performance.now();
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 8);
    });
    socket.resume();
    await expect.poll(() => bytes, { timeout: 28_000 }).toBeGreaterThan(OUTPUT.length);
    expect(performance.now() - begunAt).toBeGreaterThan(1_500);
  });
});

it('a call that waits is not ended for its silence', async () => {
  await serve({ limits: { stallMs: 50 } });
  const waiting = post('/workflow/run', { workflowName: 'wait', input: 1, workflowId: 'w' });
  await until(() => engine.starts.length === 1 && engine.abortableFor('w') === 1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  engine.end('w', { status: 'completed' });
  expect((await waiting).status).toBe(200);
});

it('a connection that waits for its next request is ended after its time, and not before', async () => {
  await serve({ limits: { stallMs: 50, keepAliveTimeoutMs: 500 } });
  const socket = await open('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  const idleSince = performance.now();
  socket.resume();
  await once(socket, 'close');
  expect(performance.now() - idleSince).toBeGreaterThan(400);
});

it('connections beyond the bound are told to come back, and the health is answered', async () => {
  await serve({ limits: { connections: 20 } });
  for (let i = 0; i < 20; i++) await open('');
  await untilConnections(20);
  const refused = await call('/workflow/catalog');
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('connection')).toBe('close');
  expect((await call('/health')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await untilConnections(1);
  expect((await call('/workflow/catalog')).status).toBe(200);
});
