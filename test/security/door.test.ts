/** The door, attacked with raw sockets: nobody gets in without the token, and nothing is taken for what it is not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSystem } from '../http/system.js';
import { Guarded, openSocket, rawExchange } from './guarded.js';

let guarded: Guarded;
let routes: [method: string, path: string][];

beforeAll(async () => {
  guarded = await Guarded.start();
  const system = await startSystem({ token: 'only-for-its-routes', workers: false });
  routes = system.server.routes.map((route) => route.split(' ') as [string, string]);
  await system.stop();
});
afterAll(() => guarded.close());

const RUN_ID = '0198c0de-0000-7000-8000-000000000000';
const fill = (path: string) => path.replace(':rid', RUN_ID).replace(/:\w+/g, 'x');
const isOpen = (method: string, path: string) =>
  /^(GET|HEAD)$/.test(method) && /^\/(health|ready)$/.test(path);
/** The page is the same for everybody; its files are no secrets. */
const isPage = (method: string, path: string) => /^(GET|HEAD)$/.test(method) && /^\/ui(\/|$)/.test(path);
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
const ask = async (line: string, headers = '') =>
  statusOf(
    await rawExchange(
      guarded.port,
      `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`,
    ),
  );

describe('without the token', () => {
  it('no route of the table answers, whatever the method', async () => {
    expect(routes.length).toBeGreaterThan(30);
    const paths = new Set(routes.map(([, path]) => fill(path)));
    for (const path of [...paths, '/', '/nothing', '/worker-link', '/docs/x', '/workflow', '/metrics/']) {
      for (const method of [
        'GET',
        'HEAD',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'PROPFIND',
        'TRACE',
      ]) {
        const status = await ask(`${method} ${path}`);
        // What an outsider has to show is in the path, and nothing else is to be had there.
        if (path === '/callback/x') {
          expect(status, `${method} ${path}`).toBe(method === 'POST' ? 404 : 405);
          continue;
        }
        // TRACE is no method of the server at all.
        if (isPage(method, path)) {
          expect(status, `${method} ${path}`).toBe({ '/ui': 302, '/ui/*': 200, '/ui/assets/x': 404 }[path]);
          continue;
        }
        const expected = isOpen(method, path)
          ? [200]
          : [401, 404, 405].slice(0, method === 'TRACE' || method === 'PROPFIND' ? 3 : 1);
        expect(expected, `${method} ${path} is ${status}`).toContain(status);
      }
    }
  });

  it.each([
    '//workflow/catalog',
    '/workflow/catalog/',
    '/WORKFLOW/catalog',
    '/%77orkflow/catalog',
    '/health/../workflow/catalog',
    '/health/%2e%2e/workflow/catalog',
    '/health%2f..%2fworkflow/catalog',
    '/health;/workflow/catalog',
    '/workflow/catalog#/health',
    '/workflow/catalog?/health',
    'http://localhost/workflow/catalog',
    '*',
  ])('no way of writing a path leads in: %s', async (path) => {
    expect([400, 401, 404]).toContain(await ask(`GET ${path}`));
  });

  it.each([
    [
      'in the query',
      (token: string) => [`?token=${token}&access_token=${token}&authorization=Bearer%20${token}`, ''],
    ],
    ['in a cookie', (token: string) => ['', `Cookie: token=${token}; authorization=Bearer ${token}\r\n`]],
    [
      'in a header of another name',
      (token: string) => ['', `X-Authorization: Bearer ${token}\r\nX-API-Key: ${token}\r\n`],
    ],
    ['for a proxy', (token: string) => ['', `Proxy-Authorization: Bearer ${token}\r\n`]],
    [
      'twice',
      (token: string) => ['', `Authorization: Bearer ${token}\r\nAuthorization: Bearer ${token}\r\n`],
    ],
    ['with a NUL', (token: string) => ['', `Authorization: Bearer ${token}\0\r\n`]],
    ['on a line that is folded', (token: string) => ['', `Authorization: Bearer\r\n ${token}x\r\n`]],
  ])('the token %s does not count', async (_where, place) => {
    const [query, headers] = place(guarded.token) as [string, string];
    expect([400, 401]).toContain(await ask(`GET /workflow/catalog${query}`, headers));
    expect(await ask('GET /workflow/catalog', `Authorization: bearer ${guarded.token}\r\n`)).toBe(200);
  });

  it('a stream, a ticket and the metrics are closed too, and a refusal is small and says nothing', async () => {
    for (const path of [
      '/workflow/x/history/stream',
      `/workflow/x/runs/${RUN_ID}/history/stream?ticket=x`,
      '/metrics',
      '/openapi.json',
    ]) {
      const answer = await rawExchange(
        guarded.port,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
      expect(statusOf(answer)).toBe(401);
      expect(answer).toContain('www-authenticate: Basic realm="perdure"');
      expect(answer.length).toBeLessThan(1_000);
      expect(answer).not.toMatch(/server:|x-powered-by:|text\/event-stream/i);
    }
  });

  it('guesses are told to come back whatever they say of where they come from, and the token is served', async () => {
    const guess = (i: number) =>
      ask(
        'GET /workflow/catalog',
        `Authorization: Bearer wrong-${i}\r\nX-Forwarded-For: 10.0.0.${i}\r\nForwarded: for=10.1.0.${i}\r\nX-Real-IP: 10.2.0.${i}\r\n`,
      );
    const statuses: number[] = [];
    for (let i = 0; i < 130; i++) statuses.push(await guess(i));
    expect(statuses[0]).toBe(401);
    expect(statuses.at(-1)).toBe(429);
    expect((await guarded.call('/workflow/catalog')).status).toBe(200);
  });
});

const POST = 'POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const BODY = '{"workflowName":"leaks","input":null,"workflowId":"smuggled"}';

describe('two ideas of where a request ends', () => {
  const auth = () => `Authorization: Bearer ${guarded.token}\r\n`;
  it.each([
    ['a length and chunks', `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${BODY.length}\r\n\r\n`],
    ['a list of lengths', `Content-Length: 0, ${BODY.length}\r\n\r\n`],
    ['a length with a sign', `Content-Length: +${BODY.length}\r\n\r\n`],
    ['a length that is none', 'Content-Length: 0x10\r\n\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['an encoding that is none', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['chunks that are not last', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['two encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n'],
    ['a line that ends with a line feed alone', 'X-A: b\nContent-Length: 0\r\n\r\n'],
    ['a carriage return within a header', 'X-A: b\rContent-Length: 0\r\n\r\n'],
    ['a NUL in a header', 'X-A: b\0c\r\n\r\n'],
    ['an extension of a chunk with a line feed', 'Transfer-Encoding: chunked\r\n\r\n2;x\nxx\r\n0\r\n\r\n'],
    ['a size of a chunk that is none', 'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n'],
    ['a folded header', 'X-A: b\r\n c: d\r\nContent-Length : 0\r\n\r\n'],
  ])('%s is refused, and what follows is no request', async (_what, rest) => {
    const smuggled = `${POST}${auth()}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
    const answer = await rawExchange(guarded.port, `${POST}${auth()}${rest}${smuggled}`);
    expect(statusOf(answer)).toBe(400);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect((await guarded.call('/workflow/smuggled/status')).status).toBe(404);
  });

  it('a request without a host, and one of another version of the protocol, are refused', async () => {
    for (const request of ['GET /health HTTP/1.1\r\n\r\n', 'GET /health HTTP/9.9\r\nHost: x\r\n\r\n']) {
      expect(statusOf(await rawExchange(guarded.port, request))).toBe(400);
    }
  });
});

describe('too much', () => {
  const auth = () => `Authorization: Bearer ${guarded.token}\r\n`;

  it.each([
    ['a header of a megabyte', `Authorization: Basic ${'A'.repeat(1_000_000)}\r\n`],
    [
      'two thousand headers',
      Array.from({ length: 2_100 }, (_, i) => `X-${i}: ${'y'.repeat(8)}\r\n`).join(''),
    ],
  ])('%s is 431', async (_what, headers) => {
    const socket = openSocket(guarded.port);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(statusOf(answer)).toBe(431);
  });

  it('a body of a hundred gigabytes is refused unread, also when it asks first', async () => {
    for (const expectHeader of ['', 'Expect: 100-continue\r\n']) {
      const answer = await rawExchange(
        guarded.port,
        `${POST}${auth()}${expectHeader}Content-Length: 107374182400\r\n\r\n`,
      );
      expect(answer).toMatch(/HTTP\/1\.1 413 /);
    }
  });

  it('a thousand requests on one connection are answered in order, up to the one that is none', async () => {
    const get = (i: number) => `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: r${i}\r\n\r\n`;
    const many = Array.from({ length: 1_000 }, (_, i) => get(i)).join('');
    const answer = await rawExchange(guarded.port, `${many}NONSENSE\r\n\r\n${get(1_000)}`);
    const ids = [...answer.matchAll(/x-request-id: (r\d+)/gi)].map(([, id]) => id);
    expect(ids).toEqual(Array.from({ length: 1_000 }, (_, i) => `r${i}`));
    expect(answer.match(/HTTP\/1\.1 400 /g)).toHaveLength(1);
  });
});

describe('another protocol', () => {
  it.each([
    ['CONNECT', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', Buffer.from('16030100a5010000a10303', 'hex').toString('latin1').padEnd(200, '\0')],
    ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ])('%s gets nowhere, and the connection ends', async (_what, bytes) => {
    const answer = await rawExchange(guarded.port, Buffer.from(bytes, 'latin1'));
    expect(answer).not.toMatch(/^HTTP\/1\.1 [123]/);
  });

  it('a WebSocket without the token of a worker is refused', async () => {
    const upgrade = (headers: string) =>
      rawExchange(
        guarded.port,
        `GET /worker-link?version=2 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`,
      );
    for (const headers of ['', 'Authorization: Bearer wrong\r\n', `Cookie: token=${guarded.token}\r\n`]) {
      expect([401, 429]).toContain(statusOf(await upgrade(headers)));
    }
  });
});

it('paths of callers lead to no file', async () => {
  for (const id of [
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f%2e%2e',
    '..%5c..%5cwindows',
    '%2fetc%2fpasswd',
    'x'.repeat(255),
  ]) {
    const response = await guarded.call(`/workflow/${id}/trace-log`);
    expect([400, 404]).toContain(response.status);
    expect(await response.text()).not.toContain('root:');
  }
  expect((await guarded.call('/workflow/a%00b/trace-log')).status).toBe(400);
});

it('every answer says that it is to be taken for nothing else, and kept by nobody', async () => {
  for (const path of [
    '/health',
    '/nothing',
    '/workflow/catalog',
    '/openapi.json',
    '/metrics',
    '/workflow/x/status',
  ]) {
    const { headers, status } = await guarded.call(path);
    expect([path, headers.get('x-content-type-options')]).toEqual([path, 'nosniff']);
    expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
    expect(headers.get('server')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
    if (status >= 400) expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  }
});
