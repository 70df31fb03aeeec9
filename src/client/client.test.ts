/** The client against a server that fails on purpose: what is tried again, what never is, and what the caller is told. */
import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ApiError,
  CallTimeoutError,
  type Client,
  type ClientOptions,
  ConnectionError,
  createClient,
  TooManyRequestsError,
  UnexpectedAnswerError,
  ValidationError,
  WorkflowAlreadyClosedError,
  WorkflowCancelledError,
  WorkflowContinuedAsNewError,
  WorkflowFailedError,
  WorkflowNotCompletedError,
  WorkflowNotFoundError,
  WorkflowTerminatedError,
  WorkflowTimedOutError,
} from './index.js';
import {
  type Answerer,
  cutOff,
  error,
  hangUp,
  json,
  ScriptedServer,
  silence,
  stream,
} from './scripted-server.fixture.js';

const RUN = '01900000-0000-7000-8000-000000000001';
const NEXT = '01900000-0000-7000-8000-000000000002';
const REF = { workflowId: 'w', runId: RUN };

let server: ScriptedServer;
beforeEach(async () => {
  server = await new ScriptedServer().listen();
});
afterEach(() => server.close());

const client = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: server.url, ...options });

const result = (status: string, more: object = {}): Answerer =>
  json(200, { v: '2', ...REF, status, input: null, output: null, trace: null, error: null, ...more });

const targets = () => server.received.map(({ method, target }) => `${method} ${target}`);
const keys = () => server.received.map(({ headers }) => headers['idempotency-key']);

/** What the promise was rejected with. */
async function rejection<E>(promise: Promise<unknown>, type: new (...args: never[]) => E): Promise<E> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(type);
  return thrown as E;
}

describe('a client', () => {
  it.each<[string, ClientOptions, RegExp]>([
    ['no address', { baseUrl: 'localhost:3001' }, /http or https/],
    ['nothing', { baseUrl: '' }, /baseUrl is "".*such as/],
    ['another protocol', { baseUrl: 'ftp://a' }, /http or https/],
    ['credentials in the address', { baseUrl: 'http://a:b@c' }, /token/],
    ['a query', { baseUrl: 'http://a?b' }, /no query/],
    ['a time that is none', { baseUrl: 'http://a', retryForMs: -1 }, /retryForMs is -1/],
    [
      'an unknown option',
      { baseUrl: 'http://a', timeout: 1 } as ClientOptions,
      /no option "timeout".*baseUrl/,
    ],
  ])('refuses %s', (_what, options, says) => expect(() => createClient(options)).toThrow(says));

  it('keeps the path of its address, and sends the token and its headers', async () => {
    server.script(json(200, { status: 'ok' }));
    await client({ baseUrl: `${server.url}/api/`, token: 'secret', headers: { 'x-team': 'a' } }).health();
    await client({ baseUrl: `${server.url}/api`, token: async () => 'fresh' }).health();
    expect(
      server.received.map(({ target, headers }) => [target, headers.authorization, headers['x-team']]),
    ).toEqual([
      ['/api/health', 'Bearer secret', 'a'],
      ['/api/health', 'Bearer fresh', undefined],
    ]);
  });

  it.each(['', undefined, null, 7])('refuses %j as an id', (wrong) => {
    expect(() => client().handle(wrong as string)).toThrow(/the id of a workflow is a text/);
    if (wrong !== undefined)
      expect(() => client().handle('w', wrong as string)).toThrow(/the id of a run is a text/);
    expect(() =>
      client()
        .handle('w')
        .signal(wrong as string),
    ).toThrow(/a name is a text/);
  });

  it('does not wait for its token longer than for anything else', async () => {
    const slow = client({ token: () => new Promise<string>(() => {}) });
    await rejection(slow.health({ timeoutMs: 50 }), CallTimeoutError);
    const reason = new Error('not wanted any more');
    const controller = new AbortController();
    const ended = slow.health({ signal: controller.signal });
    controller.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  it('calls the fetch that it was given', async () => {
    const fetched: string[] = [];
    const own: typeof fetch = async (input) => {
      fetched.push(String(input));
      return Response.json({ status: 'ok' });
    };
    await client({ fetch: own }).health();
    expect(fetched).toEqual([`${server.url}/health`]);
  });

  it('calls it as a function on its own, as the one of a browser has to be', async () => {
    const own = async function (this: unknown) {
      if (this !== undefined) throw new TypeError('Illegal invocation');
      return Response.json({ status: 'ok' });
    };
    expect(await client({ fetch: own, retryForMs: 0 }).health()).toEqual({ status: 'ok' });
  });

  it('shows its secrets to nobody who writes it into a log', async () => {
    server.script(json(200, REF));
    const secretive = client({ token: 'hush', headers: { cookie: 'hush' } });
    const order = secretive.workflow('order');
    for (const logged of [secretive, order, await order.start(1)]) {
      expect(JSON.stringify(logged)).not.toContain('hush');
      expect(inspect(logged, { depth: null })).not.toContain('hush');
    }
  });

  it.each<[string, (headers: Record<string, string>) => Promise<unknown>, RegExp]>([
    ['a header', (headers) => client({ headers }).health(), /^the header x-a has characters/],
    [
      'a key',
      ({ 'x-a': idempotencyKey }) => client().workflow('order').start(1, { idempotencyKey }),
      /^the header idempotency-key has characters/,
    ],
    [
      'the id of an event',
      ({ 'x-a': lastEventId }) => client().handle('w').history({ follow: true, lastEventId }).next(),
      /^the header last-event-id has characters/,
    ],
  ])('does not take %s that cannot be sent for a lost connection', async (_what, call, says) => {
    for (const value of ['hush\n1', 'hush 日本']) {
      const { message } = await rejection(call({ 'x-a': value }), TypeError);
      expect(message).toMatch(says);
      expect(message).not.toContain('hush');
    }
    await expect(client({ headers: { 'x a': '1' } }).health()).rejects.toThrow(/"x a" is not the name/);
    expect(server.received).toEqual([]);
  });

  it('does not take an error of the token function for a lost connection', async () => {
    const broken = client({ token: () => Promise.reject(new Error('no token today')) });
    await expect(broken.health()).rejects.toThrow('no token today');
    expect(server.received).toEqual([]);
  });

  it.each(['a/b ü', '%2F', '?#', ' ', 'ids with "quotes"', '../..', '日本'])(
    'writes the id %j into the path of every call',
    async (id) => {
      // What the answers have that are told from those of other programs.
      const ours = { input: null, source: 'local', reasons: [], totals: {}, ticket: 't', budget: null };
      const page = { events: [], nextPageToken: null };
      server.script(json(200, { ...REF, ...ours, ...page, status: 'completed' }));
      const name = 'a/b?c#d %';
      for (const handle of [client().handle(id), client().handle(id, RUN)]) {
        await handle.status();
        await handle.input();
        await handle.result();
        await handle.traceLog();
        await handle.why();
        await handle.cost();
        await handle.historyPage();
        await handle.history().next();
        await handle
          .history({ follow: true })
          .next()
          .catch(() => {});
        await handle.streamTicket();
        await handle.setBudget(1);
        await handle.stop();
        await handle.terminate();
        await handle.pause();
        await handle.resume();
        await handle.reset({ toStart: true });
        await handle.feedback();
        await handle.signal(name);
        await handle.query(name);
        await handle.update(name);
      }
      const own = `/workflow/${encodeURIComponent(id)}/`;
      expect(server.received.filter(({ target }) => !target.startsWith(own))).toEqual([]);
      const of = (kind: string) => `POST ${own}${kind}/${encodeURIComponent(name)}`;
      expect(targets()).toEqual(expect.arrayContaining([of('signal'), of('query'), of('update')]));
      expect(targets()).toContain(`GET ${own}runs/${RUN}/status`);
    },
  );

  it.each(['.', '..'])('writes the id %j so that it is not taken for a way through folders', async (id) => {
    server.script(json(200, REF));
    await client().handle(id, RUN).status();
    expect(targets()).toEqual([`GET /workflow/%1B${id}/runs/${RUN}/status`]);
    expect(() => client().handle('a').query(id)).toThrow(/cannot be part of an address/);
  });
});

describe('what JSON would change without a word', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const values: [unknown, RegExp][] = [
    [{ cents: Number.NaN }, /\.cents is NaN, which JSON cannot carry/],
    [Number.POSITIVE_INFINITY, /is Infinity/],
    [{ id: 2n ** 64n }, /\.id is a BigInt/],
    [['a', undefined], /\[1\] is undefined in an array/],
    [{ seen: new Map([[1, 2]]) }, /\.seen is a Map/],
    [{ when: new Date('never') }, /\.when is an invalid date/],
    [{ go: () => {} }, /\.go is a function/],
    [circular, /\.self is a circular reference/],
  ];
  it.each(values)('is not sent: %s', async (value, says) => {
    const w = client().handle('w', RUN);
    for (const call of [
      client().workflow('order').start(value),
      client().workflow('order').run(value),
      w.signal('a', value),
      w.query('a', value),
      w.update('a', value),
      w.feedback(value, { callbackId: 'c' }),
      client().callback('token', value),
    ]) {
      expect((await rejection(call, TypeError)).message).toMatch(says);
    }
    expect((await rejection(w.setBudget(Number.NaN), TypeError)).message).toMatch(/amount is NaN/);
    expect(server.received).toEqual([]);
  });

  it('but for what everybody knows: properties that are undefined, and dates', async () => {
    server.script(json(200, REF));
    await client()
      .workflow('order')
      .start({ left: undefined, at: new Date(0), none: null });
    expect(server.received[0]!.body).toMatchObject({ input: { at: '1970-01-01T00:00:00.000Z', none: null } });
  });
});

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
    server.script(fault, fault, json(200, { ...REF, status: 'running' }));
    expect(await client().handle('w').status()).toMatchObject(REF);
    expect(targets()).toEqual(Array(3).fill('GET /workflow/w/status'));
  });

  it.each<[string, Answerer]>([
    ['a connection that breaks', hangUp],
    ['an answer that breaks off', cutOff('{"workflowId":')],
    ['an engine that is away', error(503, 'EngineUnavailableError', {}, { 'retry-after': '0' })],
  ])('is started again after %s, under the same key and with the same body', async (_what, fault) => {
    server.script(fault, json(200, REF));
    const handle = await client().workflow('order').start({ cents: 1 }, { workflowId: 'w' });
    expect(handle).toMatchObject({ workflowId: 'w', runId: undefined, startedRunId: RUN });
    expect(keys()[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys()[1]).toBe(keys()[0]);
    expect(server.received[1]!.body).toEqual({ workflowName: 'order', input: { cents: 1 }, workflowId: 'w' });
    expect(server.received[0]!.body).toEqual(server.received[1]!.body);
  });

  it('has a new key with every call, or the one of the caller', async () => {
    server.script(json(200, REF));
    const order = client().workflow('order', { catalog: 'blue' });
    await order.start(1);
    await order.start(1);
    await order.start(1, { idempotencyKey: 'order 7', catalog: 'green' });
    expect(new Set(keys()).size).toBe(3);
    expect(keys()[2]).toBe('order 7');
    expect(server.received.map(({ body }) => (body as { catalog: string }).catalog)).toEqual([
      'blue',
      'blue',
      'green',
    ]);
  });

  it('sends null for an input that is left out', async () => {
    server.script(json(200, REF));
    await client().workflow('tick').start();
    expect(server.received[0]!.body).toEqual({ workflowName: 'tick', input: null });
  });

  it('waits as long as Retry-After says', async () => {
    server.script(error(503, 'CatalogNotAvailableError', {}, { 'retry-after': '1' }), json(200, REF));
    const before = performance.now();
    await client().workflow('order').start(1);
    expect(performance.now() - before).toBeGreaterThanOrEqual(990);
  });

  it('reads a Retry-After that is a date', async () => {
    const at = new Date(Date.now() + 3_600_000).toUTCString();
    server.script(error(503, 'EngineUnavailableError', {}, { 'retry-after': at }));
    // An hour is longer than the client tries, so it does not even begin to wait.
    const thrown = await rejection(client().health(), ApiError);
    expect(thrown.retryAfterMs).toBeGreaterThan(3_500_000);
    expect(server.received).toHaveLength(1);
  });

  it('is given up when the time for it is over', async () => {
    server.script(hangUp);
    const thrown = await rejection(client({ retryForMs: 400 }).health(), ConnectionError);
    expect(thrown).toMatchObject({ name: 'ConnectionError', status: undefined, isUnsent: false });
    expect(server.received.length).toBeGreaterThan(1);
    server.received.length = 0;
    await rejection(client({ retryForMs: 0 }).health(), ConnectionError);
    expect(server.received).toHaveLength(1);
  });

  it('is tried again when a server does not answer in time', async () => {
    server.script(silence, json(200, { status: 'ok' }));
    await client({ answerWithinMs: 100 }).health();
    expect(server.received).toHaveLength(2);
  });

  it.each<[string, Answerer, number]>([
    ['of the caller', error(404, 'WorkflowNotFoundError'), 404],
    ['of the server', error(500, 'InternalError'), 500],
    ['of a full disk', error(507, 'StorageFullError', {}, { 'retry-after': '0' }), 507],
  ])('is not tried again after an error %s', async (_what, answer, status) => {
    server.script(answer);
    expect(await rejection(client().workflow('order').start(1), ApiError)).toMatchObject({ status });
    expect(server.received).toHaveLength(1);
  });

  it('includes queries, which change nothing', async () => {
    server.script(hangUp, json(200, 3));
    expect(await client().handle('w').query('billed', 'eur')).toBe(3);
    expect(server.received[1]).toMatchObject({
      target: '/workflow/w/query/billed',
      body: { payload: 'eur' },
    });
  });

  it('includes callbacks, of which the first counts', async () => {
    server.script(hangUp, json(200, REF));
    expect(await client().callback('a.b', { ok: true })).toEqual(REF);
    expect(server.received.at(-1)).toMatchObject({ target: '/callback/a.b', body: { ok: true } });
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
      server.received.length = 0;
      server.script(fault, fault);
      await expect(send(client())).rejects.toThrow();
      expect(server.received).toHaveLength(1);
    }
  });

  it.each(sends)('is %s: sent again when it was refused for the moment', async (_what, send) => {
    server.script(error(429, 'TooManyRequestsError', {}, { 'retry-after': '0' }), json(200, REF));
    await send(client());
    expect(server.received).toHaveLength(2);
  });

  it.each(sends)('is %s: sent again when there was nobody to send it to', async (_what, send) => {
    const { port } = server;
    await server.close();
    const sent = send(client());
    server = await new ScriptedServer().script(json(200, REF)).listen(port);
    await sent;
    expect(server.received).toHaveLength(1);
  });

  it('names the callback that feedback is for', async () => {
    server.script(json(200, REF));
    await client().handle('w').feedback('yes', { callbackId: 'approval' });
    await client().handle('w').feedback('yes');
    expect(server.received.map(({ body }) => body)).toEqual([
      { payload: 'yes', callbackId: 'approval' },
      { payload: 'yes' },
    ]);
  });

  it('sends no body for no payload, and null for null', async () => {
    server.script(json(200, REF));
    await client().handle('w').signal('tick');
    await client().handle('w').signal('tick', null);
    expect(server.received.map(({ body }) => body)).toEqual([undefined, { payload: null }]);
  });
});

describe('run', () => {
  const order = (options: Partial<ClientOptions> = {}) => client(options).workflow('order');

  it.each([0, false, '', null, { tracking: 'x' }])('gives the output %j', async (output) => {
    server.script(result('completed', { output }));
    expect(await order().run(1)).toEqual(output);
    expect(server.received[0]).toMatchObject({
      target: '/workflow/run',
      body: { workflowName: 'order', input: 1, timeout: 30_000 },
    });
  });

  it('goes on waiting for the same run after its connection broke', async () => {
    server.script(hangUp, cutOff('{"v":"2"'), result('completed', { output: 7 }));
    expect(await order().run(1)).toBe(7);
    expect(new Set(keys()).size).toBe(1);
    expect(targets()).toEqual(Array(3).fill('POST /workflow/run'));
  });

  it.each<[string, Answerer]>([
    ['the wait was over', error(408, 'WorkflowExecutionTimedOutError', REF)],
    ['the server stopped', error(503, 'EngineUnavailableError', REF, { 'retry-after': '5' })],
  ])('asks for the run, and starts nothing, once it knows which it is: %s', async (_what, fault) => {
    const open = error(424, 'WorkflowNotCompletedError', REF);
    server.script(fault, open, hangUp, open, result('completed', { output: 7 }));
    expect(await order().run(1)).toBe(7);
    expect(targets()).toEqual(['POST /workflow/run', ...Array(4).fill('GET /workflow/w/result?wait=30000')]);
  });

  it('says which run goes on when its time is over', async () => {
    server.script(error(408, 'WorkflowExecutionTimedOutError', REF), silence);
    const thrown = await rejection(order().run(1, { timeoutMs: 300 }), CallTimeoutError);
    expect(thrown).toMatchObject({ name: 'CallTimeoutError', workflowId: 'w', runId: RUN });
    // The server was asked to answer before that, since only it knows.
    expect((server.received[0]!.body as { timeout: number }).timeout).toBe(270);
  });

  it.each([
    ['failed', WorkflowFailedError, 'WorkflowFailedError'],
    ['cancelled', WorkflowCancelledError, 'WorkflowCancelledError'],
    ['terminated', WorkflowTerminatedError, 'WorkflowTerminatedError'],
    ['timed_out', WorkflowTimedOutError, 'WorkflowTimedOutError'],
    ['continued_as_new', WorkflowContinuedAsNewError, 'WorkflowContinuedAsNewError'],
  ] as const)('throws what became of a run that %s', async (status, type, name) => {
    server.script(result(status, { error: { name: 'CardError', message: 'declined', code: 51 } }));
    const thrown = await rejection(order().run(1), type);
    expect(thrown).toMatchObject({
      name,
      status,
      ...REF,
      error: { name: 'CardError', message: 'declined', code: 51 },
    });
    expect(thrown.message).toMatch(/^w .*: declined$/);
  });

  it('gives the causes as a chain of errors with their own properties', async () => {
    const error = {
      name: 'StepError',
      message: 'charge failed',
      activityType: 'order#charge',
      cause: {
        name: 'CardError',
        message: 'declined',
        code: 51,
        cause: { name: 'Error', message: 'no funds' },
      },
    };
    server.script(result('failed', { error }));
    const thrown = await rejection(order().run(1), WorkflowFailedError);
    const step = thrown.cause as Error & { activityType: string };
    expect([step.name, step.message, step.activityType]).toEqual([
      'StepError',
      'charge failed',
      'order#charge',
    ]);
    const card = step.cause as Error & { code: number };
    expect([card.name, card.message, card.code]).toEqual(['CardError', 'declined', 51]);
    expect((card.cause as Error).message).toBe('no funds');
  });

  it('reads the legacy form of a result', async () => {
    const legacy = { ...REF, input: 1, trace: null };
    server.script(json(200, { ...legacy, status: 'completed', output: 5, error: null, errorDetails: null }));
    expect(await order().run(1)).toBe(5);
    const cause = { name: 'CardError', message: 'declined' };
    const errorDetails = {
      message: 'm',
      name: 'StepError',
      retryable: true,
      activityId: 'order#charge',
      cause,
    };
    server.script(
      json(200, { ...legacy, status: 'failed', output: null, error: 'charge failed', errorDetails }),
    );
    await order().run(1);
    const thrown = await rejection(order().run(1), WorkflowFailedError);
    expect(thrown.error).toEqual({
      name: 'StepError',
      message: 'charge failed',
      activityType: 'order#charge',
      cause,
    });
  });
});

describe('result and outcome', () => {
  it('wait until the run has ended', async () => {
    const open = error(424, 'WorkflowNotCompletedError', REF);
    server.script(open, open, result('completed', { output: 1 }));
    expect(await client().handle('w').result()).toBe(1);
    expect(targets()).toEqual(Array(3).fill('GET /workflow/w/result?wait=30000'));
  });

  it('wait as long as they may', async () => {
    server.script(error(424, 'WorkflowNotCompletedError', REF));
    await rejection(client().handle('w', RUN).outcome({ waitMs: 0 }), WorkflowNotCompletedError);
    expect(targets()).toEqual([`GET /workflow/w/runs/${RUN}/result`]);
    server.received.length = 0;
    await rejection(client().handle('w').result({ waitMs: 50 }), WorkflowNotCompletedError);
    expect(Number(server.received[0]!.target.split('wait=')[1])).toBeLessThanOrEqual(50);
  });

  it('do not rush a server that answers before the time, as one that stops does', async () => {
    const pauses = vi.spyOn(globalThis, 'setTimeout');
    server.script(error(424, 'WorkflowNotCompletedError', REF), result('completed'));
    await client({ answerWithinMs: Number.POSITIVE_INFINITY }).handle('w').outcome();
    const asked = pauses.mock.calls.map(([, ms]) => ms);
    vi.restoreAllMocks();
    expect(asked).toContain(250);
  });

  it('give the whole body, of a failure too', async () => {
    server.script(result('failed', { error: { name: 'Error', message: 'no' } }));
    expect(await client().handle('w').outcome()).toMatchObject({
      v: '2',
      status: 'failed',
      error: { message: 'no' },
    });
  });
});

describe('stop and terminate', () => {
  const status = (runId: string, status = 'running'): Answerer =>
    json(200, { workflowId: 'w', runId, status });
  const stopped = (runId: string, status = 'running'): Answerer =>
    json(200, { workflowId: 'w', runId, status });

  it('act on one run, by its id, so that a repeat cannot hit another', async () => {
    server.script(status(RUN), hangUp, stopped(RUN));
    expect(await client().handle('w').stop()).toMatchObject(REF);
    const path = `PATCH /workflow/w/runs/${RUN}/stop`;
    expect(targets()).toEqual(['GET /workflow/w/status', path, path]);
  });

  it('go after a run that was continued as new in between', async () => {
    server.script(status(RUN), stopped(RUN, 'continued_as_new'), status(NEXT), stopped(NEXT));
    expect(await client().handle('w').stop()).toMatchObject({ runId: NEXT });
    server.received.length = 0;
    server.script(status(RUN), error(409, 'WorkflowAlreadyClosedError'), status(RUN, 'continued_as_new'));
    server.script(status(NEXT), json(200, { workflowId: 'w', runId: NEXT, terminated: true }));
    // The last answer of the first script stands in front.
    await client().handle('w').status();
    expect(await client().handle('w').terminate({ reason: 'enough' })).toMatchObject({ runId: NEXT });
    expect(server.received.at(-1)).toMatchObject({ body: { reason: 'enough' } });
  });

  it('leave a handle that is bound with its own run', async () => {
    server.script(stopped(RUN, 'continued_as_new'));
    expect(await client().handle('w', RUN).stop()).toMatchObject({ status: 'continued_as_new' });
    expect(server.received).toHaveLength(1);
  });

  it('take a run for terminated whose answer got lost', async () => {
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);
    const away = error(503, 'EngineUnavailableError', {}, { 'retry-after': '0' });
    server.script(hangUp, closed, status(RUN, 'terminated'), away, closed, status(RUN, 'terminated'));
    for (let call = 1; call <= 2; call++)
      expect(await client().handle('w', RUN).terminate()).toEqual({ ...REF, terminated: true });
  });

  it('say that a run was closed before', async () => {
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);
    server.script(closed, status(RUN, 'terminated'));
    await rejection(client().handle('w', RUN).terminate(), WorkflowAlreadyClosedError);
    server.script(hangUp, closed, status(RUN, 'completed'));
    await client().handle('w').status();
    await rejection(client().handle('w', RUN).terminate(), WorkflowAlreadyClosedError);
  });

  it('resets to a step or to the start, and gives the new run', async () => {
    server.script(json(200, { workflowId: 'w', runId: NEXT }));
    const handle = await client()
      .handle('w', RUN)
      .reset({ stepName: 'charge', occurrence: 2, reason: 'again' });
    expect(handle).toMatchObject({ workflowId: 'w', runId: undefined, startedRunId: NEXT });
    await client().handle('w', RUN).reset({ toStart: true });
    expect(server.received.map(({ body }) => body)).toEqual([
      { stepName: 'charge', occurrence: 2, reason: 'again' },
      { toStart: true },
    ]);
  });
});

describe('errors', () => {
  it('are classes that carry what the answer says', async () => {
    const issues = [{ path: ['input', 'cents'], message: 'must be positive', code: 'minimum' }];
    server.script(
      json(400, { error: 'ValidationError', message: 'Invalid Payload', issues }, { 'x-request-id': 'r-1' }),
    );
    const thrown = await rejection(client().workflow('order').start({}), ValidationError);
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ name: 'ValidationError', status: 400, issues, requestId: 'r-1' });
    expect(thrown.message).toBe('Invalid Payload: input.cents must be positive');
    server.script(error(404, 'WorkflowNotFoundError', REF));
    await client()
      .workflow('order')
      .start({})
      .catch(() => {});
    expect(await rejection(client().handle('w').status(), WorkflowNotFoundError)).toMatchObject({
      status: 404,
      ...REF,
    });
  });

  it.each([302, 307])('a redirect is not followed, with a secret or without: %d', async (status) => {
    const elsewhere = (await new ScriptedServer().listen()).script(json(200, REF));
    server.script((response) => {
      response.writeHead(status, { location: `${elsewhere.url}/workflow/start` }).end();
    });
    const starting = client({ token: 'secret' }).workflow('w').start(1);
    const { message } = await rejection(starting, UnexpectedAnswerError);
    expect(message).toContain(`a redirect to ${elsewhere.url}/workflow/start`);
    expect([server.received.length, elsewhere.received.length]).toEqual([1, 0]);
    await elsewhere.close();
  });

  it('of names that it does not know are errors all the same', async () => {
    server.script(error(418, 'TeapotError'));
    expect(await rejection(client().health(), ApiError)).toMatchObject({ name: 'TeapotError', status: 418 });
  });

  it.each<[string, Answerer]>([
    ['a page', (response) => void response.writeHead(200).end('<html>Welcome</html>')],
    ['a page that is an error', (response) => void response.writeHead(404).end('<html>Welcome</html>')],
    ['an error of somebody else', json(400, { message: 'Welcome' })],
  ])('say that something else answered: %s', async (_what, answer) => {
    server.script(answer);
    const thrown = await rejection(client().health(), UnexpectedAnswerError);
    expect(thrown.message).toContain('Welcome');
    expect(thrown.message).toContain(server.url);
  });

  it.each<[string, (of: Client) => Promise<unknown>, object]>([
    ['run', (of) => of.workflow('order').run(1), { status: 'ok' }],
    ['result', (of) => of.handle('w').result(), { status: 'running' }],
    ['start', (of) => of.workflow('order').start(1), { runId: RUN }],
    ['status', (of) => of.handle('w').status(), { runId: 5, status: 'running' }],
    ['history', (of) => of.handle('w').history().next(), { events: null }],
    ['runs', (of) => of.runs().next(), { runs: {} }],
    ['catalog', (of) => of.catalog(), { workflows: 'many' }],
    ['backup', (of) => of.backup(), { Welcome: 1 }],
  ])('say so of JSON that is no answer to %s, and not that a workflow failed', async (_what, call, body) => {
    server.script(json(200, body));
    const thrown = await rejection(call(client()), UnexpectedAnswerError);
    expect(thrown.message).toContain(Object.keys(body)[0]);
    expect(server.received).toHaveLength(1);
  });

  it('say so of no body at all, where there should be a backup', async () => {
    server.script((response) => void response.writeHead(204).end());
    await rejection(client().backup(), UnexpectedAnswerError);
    expect(server.received).toHaveLength(1);
  });

  it('say who did not answer', async () => {
    await server.close();
    const thrown = await rejection(client({ retryForMs: 0 }).health(), ConnectionError);
    expect(thrown.message).toContain(server.url);
    expect(thrown.message).toMatch(/ECONNREFUSED/);
    expect(thrown.isUnsent).toBe(true);
  });

  describe('say that nothing was sent only where that holds for every try', () => {
    /** The last that it answers; from then on it cannot be reached. */
    const last =
      (answer: Answerer): Answerer =>
      async (response, received) => {
        response.once('close', () => void server.close());
        await answer(response, received);
      };
    const status = json(200, { ...REF, status: 'running' });
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);

    it.each<[string, (of: Client) => Promise<unknown>, Answerer[]]>([
      ['a start whose connection broke', (of) => of.workflow('order').start(1), [hangUp]],
      [
        'a start that a proxy refused',
        (of) => of.workflow('order').start(1),
        [error(503, 'EngineUnavailableError')],
      ],
      [
        'a signal that came too often',
        (of) => of.handle('w').signal('go'),
        [error(429, 'TooManyRequestsError')],
      ],
      [
        'a run that is there',
        (of) => of.workflow('order').run(1),
        [error(408, 'WorkflowExecutionTimedOutError', REF)],
      ],
      ['a wait that began', (of) => of.handle('w').result(), [error(424, 'WorkflowNotCompletedError', REF)]],
      [
        'a stop of a run that had gone on',
        (of) => of.handle('w').stop(),
        [status, json(200, { ...REF, status: 'continued_as_new' })],
      ],
      ['a terminate of a closed run', (of) => of.handle('w').terminate(), [status, closed]],
      [
        'a stream that broke',
        (of) => of.handle('w').history({ follow: true }).next(),
        [stream([], 'breaks')],
      ],
    ])('%s', async (_what, call, answers) => {
      server.script(...answers.slice(0, -1), last(answers.at(-1)!));
      const thrown = await rejection(call(client({ retryForMs: 300 })), ConnectionError);
      expect(thrown.message).toMatch(/ECONNREFUSED/);
      expect(thrown.isUnsent).toBe(false);
    });

    it('a stop of which only the run was found', async () => {
      server.script(last(status));
      const thrown = await rejection(client({ retryForMs: 300 }).handle('w').stop(), ConnectionError);
      expect(thrown.isUnsent).toBe(true);
    });
  });
});

describe('a call that is ended', () => {
  const reason = new Error('not wanted any more');

  it('throws the reason of its signal, before, during and between tries', async () => {
    await expect(client().health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.received).toEqual([]);
    server.script(silence, error(503, 'EngineUnavailableError', {}, { 'retry-after': '30' }));
    for (let call = 1; call <= 2; call++) {
      const controller = new AbortController();
      const ended = client().health({ signal: controller.signal });
      await expect.poll(() => server.received.length).toBe(call);
      controller.abort(reason);
      await expect(ended).rejects.toBe(reason);
    }
  });

  it('throws when its time is over, also between tries', async () => {
    server.script(silence);
    expect(await rejection(client().health({ timeoutMs: 50 }), CallTimeoutError)).toMatchObject({
      status: undefined,
    });
    server.script(error(429, 'TooManyRequestsError', {}, { 'retry-after': '30' }));
    await rejection(client().health({ timeoutMs: 50 }), CallTimeoutError);
    await rejection(client({ retryForMs: 0 }).health(), TooManyRequestsError);
  });

  it('leaves no connection open, no timer running and no listener behind', async () => {
    const timers = new Set<unknown>();
    const set = vi.spyOn(globalThis, 'setTimeout');
    const clear = vi.spyOn(globalThis, 'clearTimeout');
    server.script(silence);
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [
      client().health({ signal, timeoutMs: 60_000 }),
      client().handle('w').result({ signal }),
      client().handle('w').history({ follow: true, signal, timeoutMs: 60_000 }).next(),
    ];
    await expect.poll(() => server.received.length).toBe(3);
    for (const { value } of set.mock.results) timers.add(value);
    expect(timers.size).toBeGreaterThanOrEqual(3);
    controller.abort(reason);
    for (const call of calls) await expect(call).rejects.toBe(reason);
    for (const [timer] of clear.mock.calls) timers.delete(timer);
    vi.restoreAllMocks();
    expect([...timers]).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // Node's fetch takes some seconds to close the connection of a call that was ended before its answer.
    await expect.poll(() => server.connections()).toBe(0);
  });
});

describe('runs', () => {
  it('come from all pages', async () => {
    const runs = [1, 2, 3].map((n) => ({ workflowId: `w${n}`, runId: RUN }));
    server.script(
      json(200, { runs: runs.slice(0, 2), count: 2, nextCursor: 'c 1' }),
      hangUp,
      json(200, { runs: runs.slice(2), count: 1, nextCursor: null }),
    );
    const seen: string[] = [];
    const startedAfter = new Date(0);
    for await (const { workflowId } of client().runs({ status: 'failed', startedAfter, pageSize: 2 }))
      seen.push(workflowId);
    expect(seen).toEqual(['w1', 'w2', 'w3']);
    const query = 'status=failed&startedAfter=1970-01-01T00%3A00%3A00.000Z&limit=2';
    expect(targets()).toEqual([
      `GET /workflow/runs?${query}`,
      ...Array(2).fill(`GET /workflow/runs?${query}&cursor=c+1`),
    ]);
  });

  it('are read no further than they are taken', async () => {
    server.script(json(200, { runs: [{ workflowId: 'w1' }], count: 1, nextCursor: 'more' }));
    for await (const run of client().runs()) if (run.workflowId === 'w1') break;
    expect(server.received).toHaveLength(1);
  });
});

describe('the service', () => {
  it('says that it is not ready rather than throw', async () => {
    server.script(json(503, { status: 'unavailable', reason: 'storage-full' }));
    expect(await client().ready()).toEqual({ status: 'unavailable', reason: 'storage-full' });
    expect(server.received).toHaveLength(1);
  });

  it('answers nothing to a heartbeat', async () => {
    server.script((response) => void response.writeHead(204).end());
    expect(await client().heartbeat()).toBeUndefined();
  });
});
