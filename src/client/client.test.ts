/** The client: what it is made of and what it sends. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ClientStage, REF, RUN, rejection } from './client-stage.fixture.js';
import { CallTimeoutError, type ClientOptions, createClient } from './index.js';
import { hangUp, json } from './scripted-server.fixture.js';

const stage = new ClientStage();
const { client, targets } = stage;

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
    stage.server.script(json(200, { status: 'ok' }));
    await client({
      baseUrl: `${stage.server.url}/api/`,
      token: 'secret',
      headers: { 'x-team': 'a' },
    }).health();
    await client({ baseUrl: `${stage.server.url}/api`, token: async () => 'fresh' }).health();
    expect(
      stage.server.received.map(({ target, headers }) => [target, headers.authorization, headers['x-team']]),
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

  it('refuses the id that no workflow can have, whose address is that of a catalog', () => {
    expect(() => client().handle('catalog')).toThrow('no workflow can have the id "catalog"');
  });

  it.each<[string, () => unknown, string]>([
    [
      'a text in place of options',
      () =>
        client()
          .handle('w')
          .terminate('why' as never),
      '"0"',
    ],
    [
      'a text in place of a reason',
      () =>
        client()
          .handle('w')
          .pause('why' as never),
      '"0"',
    ],
    [
      'a reason that is mistyped',
      () =>
        client()
          .handle('w')
          .terminate({ reasn: 'why' } as never),
      '"reasn"',
    ],
    [
      'a limit of another name',
      () =>
        client()
          .handle('w')
          .result({ timeout: 1 } as never),
      '"timeout"',
    ],
    [
      'a limit of another name',
      () =>
        client()
          .handle('w')
          .signal('s', 1, { timeout: 1 } as never),
      '"timeout"',
    ],
    [
      'a mistyped part of a history',
      () =>
        client()
          .handle('w')
          .history({ folow: true } as never),
      '"folow"',
    ],
    ['a limit of another name', () => client().workers({ timeout: 1 } as never), '"timeout"'],
    ['a catalog of another name', () => client().workflow('w', { catalogue: 'c' } as never), '"catalogue"'],
    [
      'the limit of the wire',
      () =>
        client()
          .workflow('w')
          .run(1, { timeout: 1 } as never),
      'timeoutMs',
    ],
  ])('refuses %s, and sends nothing', async (_what, call, says) => {
    await expect(async () => call()).rejects.toThrow(says);
    expect(stage.server.received).toEqual([]);
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
    expect(fetched).toEqual([`${stage.server.url}/health`]);
  });

  it('calls it as a function on its own, as the one of a browser has to be', async () => {
    const own = async function (this: unknown) {
      if (this !== undefined) throw new TypeError('Illegal invocation');
      return Response.json({ status: 'ok' });
    };
    expect(await client({ fetch: own, retryForMs: 0 }).health()).toEqual({ status: 'ok' });
  });

  it('shows its secrets to nobody who writes it into a log', async () => {
    stage.server.script(json(200, REF));
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
    expect(stage.server.received).toEqual([]);
  });

  it('does not take an error of the token function for a lost connection', async () => {
    const broken = client({ token: () => Promise.reject(new Error('no token today')) });
    await expect(broken.health()).rejects.toThrow('no token today');
    expect(stage.server.received).toEqual([]);
  });

  it.each(['a/b ü', '%2F', '?#', ' ', 'ids with "quotes"', '../..', '日本'])(
    'writes the id %j into the path of every call',
    async (id) => {
      // What the answers have that are told from those of other programs.
      const ours = { input: null, source: 'local', reasons: [], totals: {}, ticket: 't', budget: null };
      const page = { events: [], nextPageToken: null };
      stage.server.script(json(200, { ...REF, ...ours, ...page, status: 'completed' }));
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
      expect(stage.server.received.filter(({ target }) => !target.startsWith(own))).toEqual([]);
      const of = (kind: string) => `POST ${own}${kind}/${encodeURIComponent(name)}`;
      expect(targets()).toEqual(expect.arrayContaining([of('signal'), of('query'), of('update')]));
      expect(targets()).toContain(`GET ${own}runs/${RUN}/status`);
    },
  );

  it.each(['.', '..'])('writes the id %j so that it is not taken for a way through folders', async (id) => {
    stage.server.script(json(200, REF));
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
    expect(stage.server.received).toEqual([]);
  });

  it('but for what everybody knows: properties that are undefined, and dates', async () => {
    stage.server.script(json(200, REF));
    await client()
      .workflow('order')
      .start({ left: undefined, at: new Date(0), none: null });
    expect(stage.server.received[0]!.body).toMatchObject({
      input: { at: '1970-01-01T00:00:00.000Z', none: null },
    });
  });
});

describe('runs', () => {
  it('come from all pages', async () => {
    const runs = [1, 2, 3].map((n) => ({ workflowId: `w${n}`, runId: RUN }));
    stage.server.script(
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
    stage.server.script(json(200, { runs: [{ workflowId: 'w1' }], count: 1, nextCursor: 'more' }));
    for await (const run of client().runs()) if (run.workflowId === 'w1') break;
    expect(stage.server.received).toHaveLength(1);
  });
});

describe('the service', () => {
  it('says that it is not ready rather than throw', async () => {
    stage.server.script(json(503, { status: 'unavailable', reason: 'storage-full' }));
    expect(await client().ready()).toEqual({ status: 'unavailable', reason: 'storage-full' });
    expect(stage.server.received).toHaveLength(1);
  });

  it('answers nothing to a heartbeat', async () => {
    stage.server.script((response) => void response.writeHead(204).end());
    expect(await client().heartbeat()).toBeUndefined();
  });
});
