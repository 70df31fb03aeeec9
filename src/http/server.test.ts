import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../core/errors.js';
import { isRunId } from '../core/names.js';
import { ScriptedEngine } from './scripted-engine.fixture.js';
import { createServer, type HttpServer, type ServerOptions } from './server.js';

let engine: ScriptedEngine;
let server: HttpServer;

async function serve(options: Partial<ServerOptions> = {}): Promise<void> {
  engine = new ScriptedEngine();
  server = createServer({ engine, ...options, limits: { closeGraceMs: 300, ...options.limits } });
  await server.listen({ host: '127.0.0.1', port: 0 });
}

function call(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(server.url + path, init);
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** Sends `request` as it is and answers with all that comes back until the server closes the connection. */
function rawExchange(request: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition() && performance.now() < deadline) await new Promise(setImmediate);
  expect(condition()).toBe(true);
}

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
    engine.unavailable = new Error('SQLITE_IOERR at /var/lib/x');
    expect(await (await call('/ready')).json()).toEqual({
      status: 'unavailable',
      reason: 'the engine cannot serve',
    });
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
    ['POST', '/', 404, 'NotFoundError', null],
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
    ['malformed', '{"workflowName":'],
    ['no JSON at all', 'hello'],
    ['with a prototype key', '{"workflowName":"echo","input":{"__proto__":{"polluted":true}}}'],
    ['with an escaped prototype key', '{"workflowName":"echo","input":{"\\u005f_proto__":1}}'],
    ['with a constructor', '{"workflowName":"echo","input":{"constructor":{"prototype":{"polluted":1}}}}'],
  ])('refuses a body %s', async (_what, body) => {
    const response = await post('/workflow/start', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'InvalidJsonError' });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(engine.starts).toEqual([]);
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
    ],
    ['no HTTP', 'hello\r\n\r\n', 400],
  ])('refuses a request with %s', async (_what, request, status) => {
    const answer = await rawExchange(request);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
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

describe('start', () => {
  beforeEach(() => serve());

  it('starts with any JSON value as input, null included', async () => {
    for (const input of [null, 0, false, '', [], { a: [1, { b: 'ü' }] }]) {
      const response = await post('/workflow/start', { workflowName: 'echo', input });
      expect(response.status).toBe(200);
      const body = (await response.json()) as { workflowId: string; runId: string };
      expect(Object.keys(body)).toEqual(['workflowId', 'runId']);
      expect(body.workflowId).toMatch(/^echo-[a-z0-9]{12}$/);
      expect(isRunId(body.runId)).toBe(true);
      expect(JSON.parse(engine.starts.at(-1)!.input[0]!)).toEqual(input);
    }
  });

  it.each([
    ['no workflowName', { input: 1 }, ['workflowName']],
    ['no input', { workflowName: 'echo' }, ['input']],
    ['a bad name', { workflowName: 'a b', input: 1 }, ['workflowName']],
    ['a long name', { workflowName: 'a'.repeat(101), input: 1 }, ['workflowName']],
    ['a bad catalog', { workflowName: 'echo', input: 1, catalog: 'x" OR 1=1' }, ['catalog']],
    ['a bad task queue', { workflowName: 'echo', input: 1, taskQueue: '' }, ['taskQueue']],
    ['an empty id', { workflowName: 'echo', input: 1, workflowId: '' }, ['workflowId']],
    ['the reserved id', { workflowName: 'echo', input: 1, workflowId: 'catalog' }, ['workflowId']],
    ['a control character', { workflowName: 'echo', input: 1, workflowId: 'a\nb' }, ['workflowId']],
    ['half a character', { workflowName: 'echo', input: 1, workflowId: 'a\ud800' }, ['workflowId']],
    ['a number as id', { workflowName: 'echo', input: 1, workflowId: 7 }, ['workflowId']],
  ])('refuses %s', async (_what, body, path) => {
    const response = await post('/workflow/start', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'ValidationError',
      message: 'Invalid Payload',
      issues: [{ path }],
    });
    expect(engine.starts).toEqual([]);
  });

  it.each([0, -1, 1.5, 3_600_001, '1000', true])(
    'refuses the timeout %s on run and ignores it on start',
    async (timeout) => {
      const body = { workflowName: 'echo', input: 1, timeout };
      expect((await post('/workflow/run', body)).status).toBe(400);
      expect((await post('/workflow/start', body)).status).toBe(200);
    },
  );

  it('takes null for what is optional as absent and ignores unknown fields', async () => {
    const nulls = { workflowId: null, catalog: null, taskQueue: null, timeout: null, color: 'red' };
    const response = await post('/workflow/run?colour=red', { workflowName: 'echo', input: 1, ...nulls });
    expect(response.status).toBe(200);
    expect(response.headers.get('deprecation')).toBeNull();
  });

  it('is told to come back while no worker has registered the catalog', async () => {
    const response = await post('/workflow/start', { workflowName: 'echo', input: 1, catalog: 'other' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await response.json()).toMatchObject({ error: 'CatalogNotAvailableError' });
  });

  it('is told when the catalog does not have the workflow', async () => {
    const response = await post('/workflow/run', { workflowName: 'nope', input: 1 });
    expect(response.status).toBe(424);
    expect(await response.json()).toMatchObject({ error: 'UnsupportedWorkflowError' });
  });

  it('checks the input against the schema of the catalog', async () => {
    const response = await post('/workflow/start', {
      workflowName: 'greeting',
      input: { name: '', tags: ['a', 2] },
    });
    expect(response.status).toBe(400);
    const { issues } = (await response.json()) as { issues: { path: unknown[]; code: string }[] };
    expect(issues.map(({ path, code }) => [path, code])).toEqual([
      [['input', 'name'], 'minLength'],
      [['input', 'tags', 1], 'type'],
    ]);
    const missing = await post('/workflow/start', { workflowName: 'greeting', input: {} });
    expect(await missing.json()).toMatchObject({ issues: [{ path: ['input', 'name'], code: 'required' }] });
    expect(engine.starts).toEqual([]);
    expect((await post('/workflow/start', { workflowName: 'greeting', input: { name: 'Ada' } })).status).toBe(
      200,
    );
  });

  it('reads a changed catalog anew', async () => {
    await post('/workflow/start', { workflowName: 'greeting', input: { name: 'Ada' } });
    const { entry } = engine.catalogs.get('default')!.workflows[0]!;
    engine.catalogs.set('default', {
      catalog: 'default',
      workflows: [
        { entry: { ...entry, inputSchema: { type: 'string' } }, settings: {}, declaresSignals: false },
      ],
    });
    expect((await post('/workflow/start', { workflowName: 'echo', input: 1 })).status).toBe(400);
    expect((await post('/workflow/start', { workflowName: 'greeting', input: {} })).status).toBe(424);
  });

  it('starts although a schema cannot be compiled, and fetches no reference', async () => {
    const { entry } = engine.catalogs.get('default')!.workflows[0]!;
    const inputSchema = { $ref: 'http://127.0.0.1:9/schema.json' };
    engine.catalogs.set('default', {
      catalog: 'default',
      workflows: [{ entry: { ...entry, inputSchema }, settings: {}, declaresSignals: false }],
    });
    expect((await post('/workflow/start', { workflowName: 'echo', input: 1 })).status).toBe(200);
  });

  it("starts an alias under the workflow's own name", async () => {
    await post('/workflow/start', { workflowName: 'repeat_after_me', input: 1 });
    expect(engine.starts).toMatchObject([{ workflowType: 'echo', catalog: 'default' }]);
  });

  it('takes taskQueue as the deprecated name of catalog, which wins', async () => {
    engine.catalogs.set('blue', { ...engine.catalogs.get('default')!, catalog: 'blue' });
    const old = await post('/workflow/start', { workflowName: 'echo', input: 1, taskQueue: 'blue' });
    expect(old.headers.get('sunset')).toBe('Thu, 16 Jul 2026 00:00:00 GMT');
    expect(old.headers.get('deprecation')).toBeTruthy();
    expect(old.headers.get('link')).toBeNull();
    await post('/workflow/start', { workflowName: 'echo', input: 1, taskQueue: 'default', catalog: 'blue' });
    expect(engine.starts.map(({ catalog }) => catalog)).toEqual(['blue', 'blue']);
  });

  it('refuses an id that is taken', async () => {
    const body = { workflowName: 'echo', input: 1, workflowId: 'a/b ü' };
    expect((await post('/workflow/start', body)).status).toBe(200);
    const again = await post('/workflow/start', body);
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ error: 'WorkflowAlreadyExistsError', workflowId: 'a/b ü' });
    expect((await call(`/workflow/${encodeURIComponent('a/b ü')}/status`)).status).toBe(200);
  });

  it('answers the same run for the same idempotency key and body', async () => {
    const key = { 'idempotency-key': 'order 7' };
    const first = await post('/workflow/start', { workflowName: 'echo', input: { a: 1, b: 2 } }, key);
    const { runId } = (await first.json()) as { runId: string };
    const body = { input: { b: 2, a: 1 }, workflowName: 'echo', timeout: 5 };
    expect(await (await post('/workflow/run', body, key)).json()).toMatchObject({
      runId,
      status: 'completed',
    });
    for (const other of [{ input: { a: 1, b: 3 } }, { workflowId: 'mine' }, { workflowName: 'wait' }]) {
      const conflict = await post('/workflow/run', { ...body, ...other }, key);
      expect(conflict.status).toBe(422);
      expect(await conflict.json()).toMatchObject({ error: 'IdempotencyConflictError' });
    }
    expect((await post('/workflow/start', body, { 'idempotency-key': '' })).status).toBe(400);
    expect((await post('/workflow/start', body, { 'idempotency-key': 'x'.repeat(256) })).status).toBe(400);
    expect(engine.starts).toHaveLength(1);
  });

  it('says that the engine is away, and when to come back', async () => {
    engine.unavailable = new PerdureError('EngineUnavailableError', 'the engine is closing');
    const response = await post('/workflow/start', { workflowName: 'echo', input: 1 });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('run, status and result', () => {
  beforeEach(() => serve());

  it('answers the result', async () => {
    const response = await post('/workflow/run', { workflowName: 'echo', input: { a: 1 } });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({
      v: '2',
      workflowId: expect.stringMatching(/^echo-/),
      runId: expect.any(String),
      status: 'completed',
      input: { a: 1 },
      output: { a: 1 },
      trace: null,
      error: null,
    });
  });

  it('stops waiting when the time is up, and the run goes on', async () => {
    const response = await post('/workflow/run', {
      workflowName: 'wait',
      input: 1,
      workflowId: 'w',
      timeout: 1,
    });
    expect(response.status).toBe(408);
    const body = (await response.json()) as { runId: string };
    expect(body).toMatchObject({ error: 'WorkflowExecutionTimedOutError', workflowId: 'w' });
    const status = await call(`/workflow/w/runs/${body.runId.toUpperCase()}/status`);
    expect(await status.json()).toEqual({
      workflowId: 'w',
      runId: body.runId,
      workflowType: 'wait',
      catalog: 'default',
      status: 'running',
      startedAt: expect.any(Number),
      completedAt: null,
      historyLength: 3,
    });
  });

  it.each(['at once', 'later'])('frees the wait when the caller hangs up %s', async (when) => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const caller = new AbortController();
    const waiting = call('/workflow/w/result?wait=60000', { signal: caller.signal }).catch(() => 'gone');
    await until(() => (when === 'later' ? engine.abortableFor('w') : engine.waitingFor('w')) === 1);
    caller.abort();
    expect(await waiting).toBe('gone');
    await until(() => engine.waitingFor('w') === 0);
  });

  it('answers 424 while the run is open, and the result once it has ended', async () => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const open = await call('/workflow/w/result');
    expect(open.status).toBe(424);
    expect(await open.json()).toMatchObject({ error: 'WorkflowNotCompletedError', workflowId: 'w' });
    const waiting = call('/workflow/w/result?wait=60000');
    await until(() => engine.waitingFor('w') === 1);
    engine.end('w', { status: 'completed', output: '0' });
    expect(await (await waiting).json()).toMatchObject({ status: 'completed', output: 0 });
    expect((await call('/workflow/w/result?wait=0')).status).toBe(200);
  });

  it.each(['-1', '60001', '1.5', 'x', '', '1&wait=2'])('refuses wait=%s', async (wait) => {
    await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId: 'w' });
    expect((await call(`/workflow/w/result?wait=${wait}`)).status).toBe(400);
  });

  it('does not know other ids and other runs', async () => {
    await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId: 'w' });
    for (const path of ['/workflow/x', '/workflow/w/runs/0198c0de-0000-7000-8000-000000000000']) {
      for (const what of ['status', 'result']) {
        const response = await call(`${path}/${what}`);
        expect(response.status).toBe(404);
        expect(await response.json()).toMatchObject({ error: 'WorkflowNotFoundError' });
      }
    }
  });

  it('limits the calls that wait', async () => {
    await server.close();
    await serve({ limits: { waitingCalls: 1 } });
    const waiting = post('/workflow/run', { workflowName: 'wait', input: 1, workflowId: 'w' });
    await until(() => engine.starts.length === 1 && engine.waitingFor('w') === 1);
    const refused = await post('/workflow/run', { workflowName: 'echo', input: 1 });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBeTruthy();
    expect((await call('/workflow/w/result?wait=1')).status).toBe(429);
    expect((await call('/workflow/w/result')).status).toBe(424);
    expect(engine.starts).toHaveLength(1);
    engine.end('w', { status: 'completed' });
    expect((await waiting).status).toBe(200);
  });

  it.each(['at once', 'later'])('answers who waits when it closes %s, and takes no more', async (when) => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'v' });
    const run = post('/workflow/run', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const result = call('/workflow/v/result?wait=60000');
    const waits = (id: string) => (when === 'later' ? engine.abortableFor(id) : engine.waitingFor(id)) === 1;
    await until(() => engine.starts.length === 2 && waits('w') && waits('v'));
    await server.close();
    expect((await run).status).toBe(503);
    expect(await (await run).json()).toMatchObject({ error: 'EngineUnavailableError', workflowId: 'w' });
    expect((await result).status).toBe(424);
    await expect(call('/health')).rejects.toThrow();
  });
});

describe('catalog', () => {
  beforeEach(() => serve());

  it('lists the default catalog and others by name', async () => {
    for (const path of ['/workflow/catalog', '/workflow/catalog/default']) {
      const body = (await (await call(path)).json()) as { catalog: string; workflows: object[] };
      expect(body.catalog).toBe('default');
      expect(body.workflows[0]).toEqual({
        name: 'echo',
        description: null,
        path: 'echo/workflow.ts',
        inputSchema: null,
        outputSchema: null,
        aliases: ['repeat_after_me'],
        steps: [],
        signals: [],
        queries: [],
        updates: [],
      });
    }
    const unknown = await call('/workflow/catalog/unknown');
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ error: 'CatalogNotFoundError' });
  });

  it('is empty while no worker has registered', async () => {
    engine.catalogs.clear();
    expect(await (await call('/workflow/catalog')).json()).toEqual({ catalog: 'default', workflows: [] });
  });
});
