/** The thread that answers probes, beside a main thread that is busy. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../core/log.js';
import { openProbes, type Probes } from './probes.js';

let probes: Probes | undefined;
afterEach(async () => {
  await probes?.close();
  probes = undefined;
});

async function connected(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const open = async (whyNotReady: () => Promise<string | undefined> = async () => undefined) => {
  probes = await openProbes({ host: '127.0.0.1', port: 0, whyNotReady, log: silentLog });
  return probes.url;
};

async function answer(url: string, init?: RequestInit): Promise<[number, unknown]> {
  const response = await fetch(url, init);
  return [response.status, await response.json()];
}

it('answers GET /health and GET /ready, and nothing else', async () => {
  const url = await open();
  expect(await answer(`${url}/health`)).toEqual([200, { status: 'ok' }]);
  expect(await answer(`${url}/ready?verbose`)).toEqual([200, { status: 'ready' }]);
  expect((await fetch(`${url}/health`, { method: 'HEAD' })).status).toBe(200);
  for (const [path, method] of [
    ['/metrics', 'GET'],
    ['/health/', 'GET'],
    ['/health', 'POST'],
  ]) {
    expect(await answer(url + path, { method })).toEqual([
      404,
      { error: 'NotFoundError', message: 'This port has GET /health and GET /ready alone' },
    ]);
  }
});

it('tells why the server is not ready, each time anew', async () => {
  let whyNot: string | undefined = 'storage-full';
  const url = await open(async () => whyNot);
  expect(await answer(`${url}/ready`)).toEqual([503, { status: 'unavailable', reason: 'storage-full' }]);
  whyNot = undefined;
  expect(await answer(`${url}/ready`)).toEqual([200, { status: 'ready' }]);
});

it('repeats the last word where the next one takes long', async () => {
  let looks = 0;
  const url = await open(() => (looks++ === 0 ? Promise.resolve(undefined) : new Promise(() => {})));
  for (let i = 0; i < 3; i++) expect(await answer(`${url}/ready`)).toEqual([200, { status: 'ready' }]);
  expect(looks).toBe(2);
}, 20_000);

it('answers while the main thread does one thing only', async () => {
  const url = await open();
  expect(await answer(`${url}/ready`)).toEqual([200, { status: 'ready' }]);
  const answers = new Int32Array(new SharedArrayBuffer(4));
  const caller = new Worker(
    `const { workerData: { url, answers } } = require('node:worker_threads');
    (async () => {
      for (const path of ['/health', '/ready', '/health']) {
        if (!(await fetch(url + path)).ok) return;
        Atomics.add(answers, 0, 1);
        Atomics.notify(answers, 0);
      }
    })();`,
    { eval: true, workerData: { url, answers } },
  );
  await once(caller, 'online');
  // Nothing else happens on this thread until the answers are there.
  const deadline = performance.now() + 9_000;
  let seen = Atomics.load(answers, 0);
  while (seen < 3 && performance.now() < deadline) {
    Atomics.wait(answers, 0, seen, 1_000);
    seen = Atomics.load(answers, 0);
  }
  expect(seen).toBe(3);
  await caller.terminate();
}, 20_000);

it('answers probes however many connections others hold', async () => {
  const url = await open();
  const closed: Promise<unknown>[] = [];
  const held: Socket[] = [];
  for (let i = 0; i < 200; i++) {
    const socket = await connected(url);
    held.push(socket);
    closed.push(once(socket, 'close'));
  }
  expect(await answer(`${url}/health`)).toEqual([200, { status: 'ok' }]);
  await Promise.all(closed.slice(0, 100));
  expect(held.slice(150).some(({ destroyed }) => destroyed)).toBe(false);
  for (const socket of held) socket.destroy();
});

it('answers probes however many that it has answered do not hang up', async () => {
  const url = await open();
  const lingering: Socket[] = [];
  const ask = async () => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {}).resume();
    lingering.push(socket);
    await once(socket, 'connect');
    socket.write('GET /health HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(socket, 'end');
  };
  await Promise.all(Array.from({ length: 64 }, ask));
  for (let i = 0; i < 20; i++) {
    void ask();
    expect(await answer(`${url}/health`)).toEqual([200, { status: 'ok' }]);
  }
  for (const socket of lingering) socket.destroy();
});

it('does not wait with its end for what has not been said', async () => {
  let looks = 0;
  const url = await open(() => {
    looks++;
    return new Promise(() => {});
  });
  const asked = fetch(`${url}/ready`);
  asked.catch(() => {});
  await connected(url);
  await expect.poll(() => looks).toBe(1);
  const closed = probes!.close();
  probes = undefined;
  await closed;
  await expect(asked).rejects.toThrow();
  // Less than the ten seconds after which the thread would answer anyway.
}, 8_000);

it('keeps its memory, and the process, whatever is sent ahead of the answers', async () => {
  const url = await open();
  const ahead = Buffer.from('GET /ready HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(40_000));
  const sockets = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const socket = await connected(url);
      socket.resume().write(ahead);
      return socket;
    }),
  );
  await expect.poll(() => sockets.every(({ closed }) => closed)).toBe(true);
  expect(await answer(`${url}/ready`)).toEqual([200, { status: 'ready' }]);
});

it.each([
  ['what is no HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['a head that does not end', `GET /health HTTP/1.1\r\na: ${'a'.repeat(20_000)}`, /^HTTP\/1\.1 200 /],
  ['half a connection', 'GET /ready HTTP/1.0\r\n\r\n', /^HTTP\/1\.1 200 /],
])('answers %s', async (_what, sent, expected) => {
  const socket = await connected(await open());
  socket.end(sent);
  expect(await text(socket)).toMatch(expected);
});

it('cannot be opened on a port that is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const opened = openProbes({
    ...{ host: '127.0.0.1', port, whyNotReady: async () => undefined, log: silentLog },
  });
  await expect(opened).rejects.toMatchObject({ code: 'EADDRINUSE' });
  other.close();
});
