import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../core/errors.js';
import { call, engine, post, rawExchange, serve, server, until } from './served.fixture.js';

afterEach(() => server.close());

describe('conventions', () => {
  beforeEach(() => serve());

  it('answers health and ready', async () => {
    expect(await (await call('/health')).json()).toEqual({ status: 'ok' });
    expect(await (await call('/ready')).json()).toEqual({ status: 'ready' });
  });

  it('says why it is not ready, but nothing of its insides', async () => {
    engine.unavailable = new PerdureError('EngineUnavailableError', 'the disk is full');
    const ready = await call('/ready');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: 'unavailable', reason: 'the disk is full' });
    engine.unavailable = new PerdureError('StorageFullError', '3 MB are left in the data folder');
    expect(await (await call('/ready')).json()).toEqual({ status: 'unavailable', reason: 'storage-full' });
    engine.unavailable = new Error('SQLITE_IOERR at /var/lib/x');
    expect(await (await call('/ready')).json()).toEqual({
      status: 'unavailable',
      reason: 'the engine cannot serve',
    });
  });

  it('tells starts that the disk is full, and when to come back', async () => {
    engine.unavailable = new PerdureError('StorageFullError', '3 MB are left in the data folder');
    const refused = await post('/workflow/start', { workflowName: 'echo', input: 1 });
    expect(refused.status).toBe(507);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: 'StorageFullError' });
  });

  it("keeps the caller's request id and makes one otherwise", async () => {
    const own = await call('/health', { headers: { 'x-request-id': 'Abc_1-2' } });
    expect(own.headers.get('x-request-id')).toBe('Abc_1-2');
    for (const bad of ['a b', 'x'.repeat(129), 'ä']) {
      const made = (await call('/nothing', { headers: { 'x-request-id': bad } })).headers.get('x-request-id');
      expect(made).toMatch(/^[A-Za-z0-9_-]{1,128}$/);
      expect(made).not.toBe(bad);
    }
  });

  it('puts security headers on every answer', async () => {
    for (const path of ['/health', '/nothing', '/workflow/catalog']) {
      const { headers } = await call(path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });

  it.each([
    ['GET', '/nothing', 404, 'NotFoundError', null],
    ['POST', '/', 405, 'MethodNotAllowedError', 'GET, HEAD'],
    ['GET', '/workflow/x/y/z/status', 404, 'NotFoundError', null],
    ['POST', '/health', 405, 'MethodNotAllowedError', 'GET, HEAD'],
    ['GET', '/workflow/run', 405, 'MethodNotAllowedError', 'POST'],
    ['DELETE', '/workflow/a%2Fb/status', 405, 'MethodNotAllowedError', 'GET, HEAD'],
    ['OPTIONS', '/workflow/start', 405, 'MethodNotAllowedError', 'POST'],
    ['PUT', '/workflow/catalog/x', 405, 'MethodNotAllowedError', 'GET, HEAD'],
  ])('%s %s is %i', async (method, path, status, error, allow) => {
    const response = await call(path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.get('allow')).toBe(allow);
    expect(await response.json()).toMatchObject({ error });
  });

  it('leads browsers from its root to the dashboard, and tells programs where things are', async () => {
    const browser = await call('/', {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
      redirect: 'manual',
    });
    expect(browser.status).toBe(302);
    const page = await fetch(new URL(browser.headers.get('location')!, browser.url));
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('<title>perdure</title>');

    const program = await call('/');
    expect(program.status).toBe(200);
    const { name, ...places } = (await program.json()) as Record<string, string>;
    expect(name).toBe('perdure');
    expect(Object.keys(places)).toContain('openapi');
    for (const place of Object.values(places)) {
      expect((await fetch(new URL(place, program.url))).status, place).not.toBe(404);
    }
  });

  it('does not read the body of a path that is not there', async () => {
    const response = await call('/nothing', { method: 'POST', body: 'not json' });
    expect(response.status).toBe(404);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json; charset=utf-16', 415],
    ['application/jsonx', 415],
    ['application/json', 200],
    ['application/json; charset=UTF-8', 200],
    ['Application/JSON', 200],
  ])('content type %s gives %i', async (type, status) => {
    const response = await post('/workflow/start', '{"workflowName":"echo","input":1}', {
      'content-type': type,
    });
    expect(response.status).toBe(status);
    if (status === 415) expect(await response.json()).toMatchObject({ error: 'UnsupportedMediaTypeError' });
  });

  it('refuses a compressed body', async () => {
    const response = await post('/workflow/start', '{}', { 'content-encoding': 'gzip' });
    expect(response.status).toBe(415);
  });

  it.each([
    ['malformed', '{"workflowName":', 'is not valid JSON'],
    ['with a comma too many', '{"input":1,}', 'is not valid JSON (at character 12)'],
    ['no JSON at all', 'hello', 'is not valid JSON'],
    ['with a prototype key', '{"workflowName":"echo","input":{"__proto__":{"polluted":true}}}', 'has a key'],
    [
      'with a prototype key behind a byte order mark',
      '\uFEFF{"workflowName":"echo","input":{"__proto__":1}}',
      'has a key',
    ],
    ['with an escaped prototype key', '{"workflowName":"echo","input":{"\\u005f_proto__":1}}', 'has a key'],
    [
      'with a constructor',
      '{"workflowName":"echo","input":{"constructor":{"prototype":{"polluted":1}}}}',
      'has a key',
    ],
  ])('refuses a body %s, and says what is wrong with it', async (_what, body, reason) => {
    const response = await post('/workflow/start', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'InvalidJsonError',
      message: expect.stringContaining(`The body ${reason}`),
    });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(engine.starts).toEqual([]);
  });

  it.each([
    ['half of a surrogate pair', 'a\\ud800'],
    ['the name of another route', 'catalog'],
  ])('says why an id is refused that has %s', async (_what, id) => {
    const response = await post('/workflow/start', `{"workflowName":"echo","input":1,"workflowId":"${id}"}`);
    const { issues } = (await response.json()) as { issues: { message: string }[] };
    expect(issues[0]!.message).toMatch(/half a surrogate pair, and not "catalog"$/);
  });

  it('refuses bytes that are no UTF-8', async () => {
    const body = Buffer.concat([
      Buffer.from('{"workflowName":"echo","input":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]);
    const response = await call('/workflow/start', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(await response.json()).toMatchObject({ error: 'InvalidJsonError' });
  });

  it.each([
    ['an empty body', ''],
    ['null', 'null'],
    ['an array', '[]'],
    ['a hundred thousand levels', `{"workflowName":"echo","input":${'['.repeat(1e5)}${']'.repeat(1e5)}}`],
    ['half a million values', `{"workflowName":"echo","input":[${'1,'.repeat(5e5)}1]}`],
    ['a number beyond a double', '{"workflowName":"echo","input":{"n":1e400}}'],
    ['a number of 400 digits', `{"workflowName":"echo","input":${'9'.repeat(400)}}`],
  ])('refuses %s as a payload', async (_what, body) => {
    const response = await post('/workflow/start', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'ValidationError',
      message: 'Invalid Payload',
      issues: [{ path: expect.any(Array), message: expect.any(String), code: expect.any(String) }],
    });
    expect(engine.starts).toEqual([]);
  });

  it('takes a body up to the limit and refuses one above it, also without a length', async () => {
    const frame = '{"workflowName":"echo","input":""}';
    const fits = `{"workflowName":"echo","input":"${'x'.repeat(2 * 1024 * 1024 - frame.length)}"}`;
    expect((await post('/workflow/start', fits)).status).toBe(200);
    const over = await post('/workflow/start', `${fits} `);
    expect(over.status).toBe(413);
    expect(await over.json()).toMatchObject({ error: 'PayloadTooLargeError' });
    const chunk = `${(1024 * 1024).toString(16)}\r\n${'x'.repeat(1024 * 1024)}\r\n`;
    const chunked = await rawExchange(
      `POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`,
    );
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /);
  });

  it.each([
    '/workflow/%zz/status',
    '/workflow/a%00b/status',
    `/workflow/${'x'.repeat(256)}/status`,
    `/workflow/${'x'.repeat(5000)}/status`,
    '/workflow/catalog/%20',
    '/workflow/a/runs/not-a-uuid/status',
    '/workflow//status',
  ])('refuses the path number %#', async (path) => {
    const response = await call(path);
    expect(response.status).toBe(400);
    expect(response.headers.get('x-request-id')).toBeTruthy();
    expect(await response.json()).toMatchObject({ error: 'ValidationError', issues: [{}] });
  });

  it.each([
    [
      'two lengths',
      'POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
    ],
    [
      'a length and chunks',
      'POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    [
      'too many headers',
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      /headers of a request may take \d+ bytes/,
    ],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n', 400, /has to have a Host header/],
    ['no host and no such path', 'GET /nothing HTTP/1.1\r\n\r\n', 400, /has to have a Host header/],
    [
      'no host and a body',
      'POST /workflow/start HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
      400,
      /has to have a Host header/,
    ],
  ])('refuses a request with %s', async (_what, request, status, reason = /not a valid HTTP request/) => {
    const answer = await rawExchange(request);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/X-Request-ID: /i);
    const { error, issues } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
    expect(error).toBe('ValidationError');
    expect(issues).toMatchObject([{ message: expect.stringMatching(reason) }]);
  });

  it('answers a request of HTTP/1.0, which needs no host', async () => {
    expect(await rawExchange('GET /health HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('leaves an expectation unmet that it does not know', async () => {
    const answer = await rawExchange(
      'GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/X-Request-ID: /i);
  });

  it.each([
    ['headers', 'GET /health HTTP/1.1\r\nHost: localhost\r\n'],
    [
      'a body',
      'POST /workflow/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ],
  ])('does not wait for ever for %s', async (_what, beginning) => {
    await server.close();
    await serve({ limits: { headersTimeoutMs: 50, requestTimeoutMs: 50 } });
    expect(await rawExchange(beginning)).toMatch(/^HTTP\/1\.1 408 /);
    expect(engine.starts).toEqual([]);
  });

  it('answers the calls before it refuses the nonsense behind them', async () => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const exchange = rawExchange(
      'GET /workflow/w/result?wait=60000 HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n',
    );
    await until(() => engine.waitingFor('w') === 1);
    // Were the nonsense refused at once, that would have happened by now.
    for (let calls = 0; calls < 5; calls++) await call('/health');
    engine.end('w', { status: 'completed' });
    expect((await exchange).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  it('keeps no socket of somebody who sends nonsense and does not go', async () => {
    const { port } = server.raw.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write('NONSENSE\r\n\r\n');
    socket.resume();
    await once(socket, 'end');
    let open = 1;
    for (let looks = 0; open > 0 && looks < 200; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      open = await new Promise((resolve) => server.raw.getConnections((_, count) => resolve(count)));
    }
    expect(open).toBe(0);
    socket.destroy();
  });

  it('hands WebSocket upgrades to whoever takes them and ignores other offers', async () => {
    server.raw.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 418 Taken\r\n\r\n'));
    const offer = (protocol: string, method = 'GET', body = '') =>
      rawExchange(
        `${method} /workflow/${method === 'GET' ? 'catalog' : 'start'} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    expect(await offer('websocket')).toMatch(/^HTTP\/1\.1 418 /);
    expect(await offer('h2c')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await offer('h2c', 'POST', '{"workflowName":"echo","input":1}')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('answers the calls before a WebSocket upgrade on the same connection, which then is none', async () => {
    server.raw.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 418 Taken\r\n\r\n'));
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const exchange = rawExchange(
      'GET /workflow/w/result?wait=60000 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /workflow/catalog HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    );
    await until(() => engine.waitingFor('w') === 1);
    // Were the upgrade taken, that would have happened by now.
    for (let calls = 0; calls < 5; calls++) await call('/health');
    engine.end('w', { status: 'completed' });
    const answers = await exchange;
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(answers).toMatch(/"status":"completed".*"workflows":/s);
  });

  it('tells nothing of an unexpected error but the request id', async () => {
    const logged: object[] = [];
    await server.close();
    await serve({ log: { debug() {}, info() {}, warn() {}, error: (fields) => logged.push(fields) } });
    engine.unavailable = new Error('SQLITE_CORRUPT: /data/perdure.db');
    const response = await post('/workflow/start', { workflowName: 'echo', input: 1 });
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({ error: 'InternalError', message: expect.any(String) });
    expect(text).not.toMatch(/SQLITE|\/data/);
    expect(logged).toMatchObject([
      { requestId: response.headers.get('x-request-id'), err: engine.unavailable },
    ]);
  });
});
