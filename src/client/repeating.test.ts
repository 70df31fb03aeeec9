/** What the client tries again, and what it never does. */
import { describe, expect, it } from 'vitest';
import { ClientStage, REF, RUN, rejection } from './client-stage.fixture.js';
import { ApiError, type Client, ConnectionError } from './index.js';
import {
  type Answerer,
  cutOff,
  error,
  hangUp,
  json,
  ScriptedServer,
  silence,
} from './scripted-server.fixture.js';

const stage = new ClientStage();
const { client, keys, targets } = stage;

describe('what can be repeated', () => {
  it.each<[string, Answerer]>([
    ['a connection that breaks', hangUp],
    ['an answer that breaks off', cutOff('{"workflowId":')],
    ['an engine that is away', error(503, 'EngineUnavailableError', {}, { 'retry-after': '0' })],
    [
      'a proxy without its server',
      (response) => void response.writeHead(502).end('<html>Bad Gateway</html>'),
    ],
    ['too many calls', error(429, 'TooManyRequestsError', {}, { 'retry-after': '0' })],
  ])('is read again after %s', async (_what, fault) => {
    stage.server.script(fault, fault, json(200, { ...REF, status: 'running' }));
    expect(await client().handle('w').status()).toMatchObject(REF);
    expect(targets()).toEqual(Array(3).fill('GET /workflow/w/status'));
  });

  it.each<[string, Answerer]>([
    ['a connection that breaks', hangUp],
    ['an answer that breaks off', cutOff('{"workflowId":')],
    ['an engine that is away', error(503, 'EngineUnavailableError', {}, { 'retry-after': '0' })],
  ])('is started again after %s, under the same key and with the same body', async (_what, fault) => {
    stage.server.script(fault, json(200, REF));
    const handle = await client().workflow('order').start({ cents: 1 }, { workflowId: 'w' });
    expect(handle).toMatchObject({ workflowId: 'w', runId: undefined, startedRunId: RUN });
    expect(keys()[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys()[1]).toBe(keys()[0]);
    expect(stage.server.received[1]!.body).toEqual({
      workflowName: 'order',
      input: { cents: 1 },
      workflowId: 'w',
    });
    expect(stage.server.received[0]!.body).toEqual(stage.server.received[1]!.body);
  });

  it('has a new key with every call, or the one of the caller', async () => {
    stage.server.script(json(200, REF));
    const order = client().workflow('order', { catalog: 'blue' });
    await order.start(1);
    await order.start(1);
    await order.start(1, { idempotencyKey: 'order 7', catalog: 'green' });
    expect(new Set(keys()).size).toBe(3);
    expect(keys()[2]).toBe('order 7');
    expect(stage.server.received.map(({ body }) => (body as { catalog: string }).catalog)).toEqual([
      'blue',
      'blue',
      'green',
    ]);
  });

  it('sends options that it does not know, for the server to refuse', async () => {
    stage.server.script(error(400, 'ValidationError', { issues: [] }));
    const mistyped = { workflowID: 'mine' } as object;
    await expect(client().workflow('tick').start(1, mistyped)).rejects.toThrow(ApiError);
    expect(stage.server.received[0]!.body).toMatchObject({ workflowName: 'tick', workflowID: 'mine' });
  });

  it('sends null for an input that is left out', async () => {
    stage.server.script(json(200, REF));
    await client().workflow('tick').start();
    expect(stage.server.received[0]!.body).toEqual({ workflowName: 'tick', input: null });
  });

  it('waits as long as Retry-After says', async () => {
    stage.server.script(error(503, 'CatalogNotAvailableError', {}, { 'retry-after': '1' }), json(200, REF));
    const before = performance.now();
    await client().workflow('order').start(1);
    expect(performance.now() - before).toBeGreaterThanOrEqual(990);
  });

  it('reads a Retry-After that is a date', async () => {
    const at = new Date(Date.now() + 3_600_000).toUTCString();
    stage.server.script(error(503, 'EngineUnavailableError', {}, { 'retry-after': at }));
    // An hour is longer than the client tries, so it does not even begin to wait.
    const thrown = await rejection(client().health(), ApiError);
    expect(thrown.retryAfterMs).toBeGreaterThan(3_500_000);
    expect(stage.server.received).toHaveLength(1);
  });

  it('is given up when the time for it is over', async () => {
    stage.server.script(hangUp);
    const thrown = await rejection(client({ retryForMs: 400 }).health(), ConnectionError);
    expect(thrown).toMatchObject({ name: 'ConnectionError', status: undefined, isUnsent: false });
    expect(stage.server.received.length).toBeGreaterThan(1);
    stage.server.received.length = 0;
    await rejection(client({ retryForMs: 0 }).health(), ConnectionError);
    expect(stage.server.received).toHaveLength(1);
  });

  it('is tried again when a server does not answer in time', async () => {
    stage.server.script(silence, json(200, { status: 'ok' }));
    await client({ answerWithinMs: 100 }).health();
    expect(stage.server.received).toHaveLength(2);
  });

  it.each<[string, Answerer, number]>([
    ['of the caller', error(404, 'WorkflowNotFoundError'), 404],
    ['of the server', error(500, 'InternalError'), 500],
    ['of a full disk', error(507, 'StorageFullError', {}, { 'retry-after': '0' }), 507],
  ])('is not tried again after an error %s', async (_what, answer, status) => {
    stage.server.script(answer);
    expect(await rejection(client().workflow('order').start(1), ApiError)).toMatchObject({ status });
    expect(stage.server.received).toHaveLength(1);
  });

  it('includes queries, which change nothing', async () => {
    stage.server.script(hangUp, json(200, 3));
    expect(await client().handle('w').query('billed', 'eur')).toBe(3);
    expect(stage.server.received[1]).toMatchObject({
      target: '/workflow/w/query/billed',
      body: { payload: 'eur' },
    });
  });

  it('includes callbacks, of which the first counts', async () => {
    stage.server.script(hangUp, json(200, REF));
    expect(await client().callback('a.b', { ok: true })).toEqual(REF);
    expect(stage.server.received.at(-1)).toMatchObject({ target: '/callback/a.b', body: { ok: true } });
  });
});

describe('what cannot be repeated', () => {
  const sends: [string, (of: Client) => Promise<unknown>][] = [
    ['a signal', (of) => of.handle('w').signal('approve', { by: 'ada' })],
    ['an update', (of) => of.handle('w').update('add', 1)],
    ['feedback', (of) => of.handle('w').feedback('yes')],
    ['a reset', (of) => of.handle('w', RUN).reset({ stepName: 'charge' })],
  ];
  it.each(sends)('is %s: sent once when it is unclear whether it arrived', async (_what, send) => {
    for (const fault of [hangUp, cutOff('{"workflowId"'), error(503, 'EngineUnavailableError')]) {
      stage.server.received.length = 0;
      stage.server.script(fault, fault);
      await expect(send(client())).rejects.toThrow();
      expect(stage.server.received).toHaveLength(1);
    }
  });

  it.each(sends)('is %s: sent again when it was refused for the moment', async (_what, send) => {
    stage.server.script(error(429, 'TooManyRequestsError', {}, { 'retry-after': '0' }), json(200, REF));
    await send(client());
    expect(stage.server.received).toHaveLength(2);
  });

  it.each(sends)('is %s: sent again when there was nobody to send it to', async (_what, send) => {
    const { port } = stage.server;
    await stage.server.close();
    const sent = send(client());
    stage.server = await new ScriptedServer().script(json(200, REF)).listen(port);
    await sent;
    expect(stage.server.received).toHaveLength(1);
  });

  it.each(sends)(
    'is %s: sent once when the way to the server is lost while it has it',
    async (_what, send) => {
      let sent = 0;
      const lost: typeof fetch = async () => {
        sent++;
        // As Node tells it when probes of a connection that is open are answered with "host unreachable".
        const cause = Object.assign(new Error('read EHOSTUNREACH'), {
          code: 'EHOSTUNREACH',
          syscall: 'read',
        });
        throw new TypeError('fetch failed', { cause });
      };
      const thrown = await rejection(send(client({ fetch: lost, retryForMs: 300 })), ConnectionError);
      expect([sent, thrown.isUnsent]).toEqual([1, false]);
    },
  );

  it('names the callback that feedback is for', async () => {
    stage.server.script(json(200, REF));
    await client().handle('w').feedback('yes', { callbackId: 'approval' });
    await client().handle('w').feedback('yes');
    expect(stage.server.received.map(({ body }) => body)).toEqual([
      { payload: 'yes', callbackId: 'approval' },
      { payload: 'yes' },
    ]);
  });

  it('sends no body for no payload, and null for null', async () => {
    stage.server.script(json(200, REF));
    await client().handle('w').signal('tick');
    await client().handle('w').signal('tick', null);
    expect(stage.server.received.map(({ body }) => body)).toEqual([undefined, { payload: null }]);
  });
});
