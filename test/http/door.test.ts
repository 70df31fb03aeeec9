/** Who may call, from where, and how many at a time. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Client, expectError, latest, pinned, until } from './client.js';
import { type HttpSystem, startSystem } from './system.js';

const TOKEN = 'a-secret-of-some-length-for-tests';
const ORIGIN = 'https://app.example.com';

const stopped: HttpSystem[] = [];
async function start(...options: Parameters<typeof startSystem>): Promise<HttpSystem> {
  const system = await startSystem(...options);
  stopped.push(system);
  return system;
}

describe('credentials', () => {
  let system: HttpSystem;
  beforeAll(async () => {
    system = await startSystem({ token: TOKEN, workers: false });
  });
  afterAll(() => system.stop());

  it('are asked for on every route but the probes, the callbacks and the page, also on those that are not there', async () => {
    const routes = system.server.routes.map((route) => route.split(' ') as [string, string]);
    expect(routes.length).toBeGreaterThan(30);
    for (const [method, path] of [...routes, ['GET', '/nothing'], ['OPTIONS', '/workflow/run']] as const) {
      const target = path.replace(':rid', '0198c0de-0000-7000-8000-000000000000').replace(/:\w+/g, 'x');
      const response = await fetch(system.server.url + target, { method });
      // Its credentials are in the path, and these are none.
      if (path === '/callback/:token') {
        expect(response.status, `${method} ${target}`).toBe(404);
        expect(response.headers.get('www-authenticate')).toBeNull();
        continue;
      }
      // The page itself is for anybody: it asks for the token and shows nothing before. No asset has this name.
      if (path.startsWith('/ui')) {
        expect(response.status, `${method} ${target}`).toBe(path.includes('assets') ? 404 : 200);
        continue;
      }
      const isOpen = target === '/health' || target === '/ready';
      expect(response.status, `${method} ${target}`).toBe(isOpen ? 200 : 401);
      if (isOpen) continue;
      expect(response.headers.get('www-authenticate')).toBe('Basic realm="perdure"');
      if (method !== 'HEAD') expect(await response.json()).toMatchObject({ error: 'UnauthorizedError' });
    }
  });

  it.each([
    ['the token itself', `Basic ${TOKEN}`, 204],
    ['user and token', `Basic ${Buffer.from(`anyone:${TOKEN}`).toString('base64')}`, 204],
    ['a bearer token', `Bearer ${TOKEN}`, 204],
    ['another scheme in small letters', `bearer ${TOKEN}`, 204],
    ['no scheme', TOKEN, 401],
    ['another token', `Bearer ${TOKEN}x`, 401],
    ['a shorter token', `Bearer ${TOKEN.slice(1)}`, 401],
    ['an empty password', `Basic ${Buffer.from('anyone:').toString('base64')}`, 401],
    ['a scheme alone', 'Basic', 401],
  ])('%s', async (_what, authorization, status) => {
    const response = await fetch(`${system.server.url}/heartbeat`, {
      method: 'POST',
      headers: { authorization },
    });
    expect(response.status).toBe(status);
  });

  it('are judged before the body is read', async () => {
    const { hostname, port } = new URL(system.server.url);
    const socket = connect(Number(port), hostname);
    socket.write('POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/connection: close/i);
  });

  it('may be either of two tokens while one replaces the other', async () => {
    const rotating = await start({ token: `${TOKEN},another`, workers: false });
    for (const [token, status] of [
      [TOKEN, 200],
      ['another', 200],
      [`${TOKEN},another`, 401],
    ] as const) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(`${rotating.server.url}/workflow/catalog`, { headers })).status).toBe(status);
    }
  });
});

afterEach(async () => {
  for (const system of stopped.splice(0)) await system.stop();
});

describe('CORS', () => {
  const preflight = (system: HttpSystem, origin: string, path = '/workflow/run') =>
    fetch(system.server.url + path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x' },
    });
  const corsHeaders = ({ headers }: Response) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control-')).sort();

  it('is off unless origins are listed', async () => {
    const system = await start({ token: TOKEN, workers: false });
    const response = await preflight(system, ORIGIN);
    expect(response.status).toBe(401);
    expect(corsHeaders(response)).toEqual([]);
    expect((await fetch(`${system.server.url}/health`)).headers.get('vary')).toBeNull();
  });

  it('answers the preflight of a listed origin before it asks for credentials', async () => {
    const system = await start({
      token: TOKEN,
      corsOrigins: [ORIGIN, 'http://localhost:5173'],
      workers: false,
    });
    for (const [origin, path] of [
      [ORIGIN, '/workflow/run'],
      ['http://localhost:5173', '/workflow/x/history/stream'],
    ] as const) {
      const response = await preflight(system, origin, path);
      expect(response.status).toBe(204);
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
      expect(response.headers.get('access-control-allow-methods')).toBe('GET, POST, PATCH');
      expect(response.headers.get('access-control-allow-headers')).toBe(
        'Authorization, Content-Type, Last-Event-ID, X-Request-ID, Idempotency-Key',
      );
      expect(response.headers.get('access-control-allow-credentials')).toBeNull();
      expect(response.headers.get('vary')).toBe('Origin');
      expect(response.headers.get('x-request-id')).toBeTruthy();
    }
  });

  it('lets a listed origin read answers and errors, and no other', async () => {
    const system = await start({ token: TOKEN, corsOrigins: [ORIGIN], workers: false });
    for (const path of ['/health', '/workflow/catalog', '/nothing', '/workflow/%zz/status']) {
      const listed = await fetch(system.server.url + path, { headers: { origin: ORIGIN } });
      expect(listed.headers.get('access-control-allow-origin'), path).toBe(ORIGIN);
      expect(listed.headers.get('access-control-expose-headers')).toContain('X-Request-ID');
      for (const origin of ['https://evil.example.com', `${ORIGIN}.evil.com`, 'null']) {
        const other = await fetch(system.server.url + path, { headers: { origin } });
        expect(corsHeaders(other)).toEqual([]);
        expect(other.headers.get('vary')).toBe('Origin');
      }
    }
    const refused = await preflight(system, 'https://evil.example.com');
    expect(refused.status).toBe(401);
    expect(corsHeaders(refused)).toEqual([]);
  });

  it('lets a listed origin call a server without a token, and no other', async () => {
    const system = await start({ corsOrigins: [ORIGIN], workers: false });
    const call = (origin: string) => fetch(`${system.server.url}/workflow/catalog`, { headers: { origin } });
    expect((await call(ORIGIN)).status).toBe(200);
    expect((await call('https://evil.example.com')).status).toBe(401);
    expect((await call('http://localhost:3000')).status).toBe(200);
  });

  it.each(['*', 'app.example.com', 'https://app.example.com/path', 'file:///x', ''])(
    'does not take "%s" for an origin',
    async (origin) => {
      await expect(startSystem({ corsOrigins: [origin], workers: false })).rejects.toThrow(
        'is not an origin',
      );
    },
  );
});

describe('before a worker has registered', () => {
  it('the catalog is empty and starts are told to come back', async () => {
    const { server } = await start({ workers: false });
    const client = await Client.connect(server.url);
    expect((await client.get('/workflow/catalog')).body).toEqual({ catalog: 'default', workflows: [] });
    expectError(await client.get('/workflow/catalog/default'), 404, 'CatalogNotFoundError');
    const reply = await client.post('/workflow/run', { workflowName: 'echo', input: 1 });
    expectError(reply, 503, 'CatalogNotAvailableError');
    expect(reply.headers.get('retry-after')).toBe('3');
    expect((await client.get('/workflow/runs')).body).toEqual({ runs: [], count: 0, nextCursor: null });
  });
});

describe('limits', () => {
  it('calls beyond those that may wait are 429, those that need not wait are served', async () => {
    const system = await start({ limits: { waitingCalls: 1 } });
    const client = await Client.connect(system.server.url);
    const run = await client.start('collects');
    const { nextPageToken } = (await client.get(`${pinned(run)}/history?longPollTimeoutMs=0&pageSize=1000`))
      .body;
    const waiting = client.get(`${latest(run)}/result?wait=20000`);
    await until(async () => (await client.post(`${latest(run)}/query/seen`)).status === 429);
    const token = `longPollTimeoutMs=1000&pageSize=1000&pageToken=${nextPageToken}`;
    for (const reply of [
      await client.post('/workflow/run', { workflowName: 'echo', input: 1 }),
      await client.get(`${pinned(run)}/result?wait=10`),
      await client.post(`${latest(run)}/update/nothing`),
      await client.post(`${latest(run)}/query/seen`),
    ]) {
      expectError(reply, 429, 'TooManyRequestsError');
      expect(reply.headers.get('retry-after')).toBe('1');
    }
    // It has an event to give, or would have to wait.
    expect([200, 429]).toContain((await client.get(`${pinned(run)}/history?${token}`)).status);
    expect((await client.get(`${latest(run)}/result`)).status).toBe(424);
    expect((await client.post(`${latest(run)}/signal/finish`)).status).toBe(200);
    expect((await waiting).status).toBe(200);
  });

  it('bodies beyond a configured size are 413', async () => {
    const system = await start({ limits: { bodyBytes: 1_000 }, workers: false });
    const client = await Client.connect(system.server.url);
    const reply = await client.post('/workflow/start', { workflowName: 'echo', input: 'x'.repeat(1_000) });
    expectError(reply, 413, 'PayloadTooLargeError');
  });

  it.each([
    ['headers', 'POST /heartbeat HTTP/1.1\r\nHost: localhost\r\nX-'],
    [
      'a body',
      'POST /heartbeat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ],
  ])('who is slow to send %s is cut off, and others are served meanwhile', async (_what, beginning) => {
    const system = await start({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 400 }, workers: false });
    const { hostname, port } = new URL(system.server.url);
    const slow = Array.from({ length: 50 }, () => {
      const socket = connect(Number(port), hostname);
      socket.write(beginning);
      return text(socket);
    });
    expect((await fetch(`${system.server.url}/health`)).status).toBe(200);
    for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('a run that has received all the signals it may says 429', async () => {
    const system = await start({ engineLimits: { signalsPerRun: 2 } });
    const client = await Client.connect(system.server.url);
    const run = await client.start('collects');
    for (let i = 0; i < 2; i++) expect((await client.post(`${latest(run)}/signal/add`)).status).toBe(200);
    for (const path of ['signal/add', 'feedback']) {
      expectError(await client.post(`${latest(run)}/${path}`), 429, 'TooManyRequestsError');
    }
  });
});
