import crypto from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Log } from '../../core/log.js';
import { callbackToken, readCallbackToken, tokenTools } from '../../core/run/callback.js';
import { call, engine, post, rawExchange, serve, server } from '../served.fixture.js';
import { withoutToken } from './callbacks.js';

const TOKEN = 'the-token-of-the-api-for-this-test';
const ORIGIN = 'https://app.example.com';
const tools = tokenTools(crypto, Buffer);
const lines: string[] = [];
const keep = (fields: object, message: string) => void lines.push(JSON.stringify([fields, message]));
const log: Log = { debug: keep, info: keep, warn: keep, error: keep };

beforeEach(async () => {
  lines.length = 0;
  await serve({ token: TOKEN, corsOrigins: [ORIGIN], limits: { wrongTokens: 5 }, log, logCalls: true });
  const headers = { authorization: `Bearer ${TOKEN}` };
  await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' }, headers);
});
afterEach(() => server.close());

const tokenFor = (callback: Partial<Parameters<typeof callbackToken>[2]> = {}, key = engine.key!) =>
  callbackToken(tools, key, { workflowId: 'w', callbackId: 'c', isChecked: false, ...callback });

describe('a call back', () => {
  it('needs nothing but its address, whatever else it shows', async () => {
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { host: 'elsewhere.test' },
      { origin: 'https://x.test' },
    ]) {
      expect((await post(`/callback/${tokenFor()}`, { a: 1 }, headers as never)).status).toBe(200);
    }
    expect(engine.signals[0]).toEqual({
      name: 'perdure.callback',
      input: ['"c"', '{"a":1}'],
      requestId: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('goes to the run that has made it, where the token names one', async () => {
    await post(`/callback/${tokenFor({ madeBy: 'the-run-that-made-it' })}`, 1);
    await post(`/callback/${tokenFor()}`, 1);
    expect(engine.signals.map(({ madeFor }) => madeFor)).toEqual(['the-run-that-made-it', undefined]);
  });

  it('also without a token of the API, and under any name of the server', async () => {
    await server.close();
    await serve();
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const body = '{"a":1}';
    const head = `POST /callback/${tokenFor()} HTTP/1.1\r\nHost: tunnel.example.com\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    expect(await rawExchange(`${head}\r\n\r\n${body}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(engine.signals).toHaveLength(1);
  });

  it('is known as a repeat by the callback alone, or where the workflow checks what comes by the body too', async () => {
    for (const isChecked of [false, true]) {
      engine.signals.length = 0;
      for (const body of [1, 1, 2, null])
        await post(`/callback/${tokenFor({ isChecked })}`, JSON.stringify(body));
      await call(`/callback/${tokenFor({ isChecked })}`, { method: 'POST' });
      expect(new Set(engine.signals.map(({ requestId }) => requestId)).size).toBe(isChecked ? 4 : 1);
    }
    expect(engine.signals.at(-1)!.input).toEqual(['"c"']);
  });

  it.each([
    ['another key', () => tokenFor({}, 'another key')],
    ['no signature', () => tokenFor().split('.')[0]!],
    ['an empty signature', () => `${tokenFor().split('.')[0]}.`],
    [
      'the signature of another',
      () => `${tokenFor().split('.')[0]}.${tokenFor({ callbackId: 'd' }).split('.')[1]}`,
    ],
    ['something behind it', () => `${tokenFor()}x`],
    ['no JSON', () => `x.${tools.sign(engine.key!, 'x')}`],
    ['an ill-formed escape', () => '%zz'],
  ])('is refused with %s, before a body is read', async (_what, token) => {
    const answer = await rawExchange(
      `POST /callback/${token()} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 (404|400) /);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).not.toMatch(/www-authenticate/i);
    expect(engine.signals).toEqual([]);
  });

  it('is refused as long as the engine has no key', async () => {
    const token = tokenFor();
    engine.key = undefined;
    expect((await post(`/callback/${token}`, 1)).status).toBe(404);
  });

  it('opens nothing else', async () => {
    const token = tokenFor();
    for (const headers of [
      { authorization: `Bearer ${token}` },
      { authorization: `Basic ${token}` },
    ] as const) {
      expect((await call('/workflow/w/status', { headers })).status).toBe(401);
    }
    expect((await call(`/workflow/w/history/stream?ticket=${token}`)).status).toBe(401);
  });

  it('that do not exist are counted as wrong tokens are, and a right one is served', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++) statuses.push((await post(`/callback/${i}.x`, 1)).status);
    expect(statuses).toEqual([404, 404, 404, 404, 404, 429, 429]);
    const refused = await post('/callback/more', 1);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // Both are guesses of one who guesses.
    const headers = { authorization: 'Bearer wrong' };
    expect((await call('/workflow/w/status', { headers })).status).toBe(429);
    expect((await post(`/callback/${tokenFor()}`, 1)).status).toBe(200);
  });

  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('takes no %s', async (method) => {
    for (const token of [tokenFor(), 'forged']) {
      const response = await call(`/callback/${token}`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    }
    expect(engine.signals).toEqual([]);
  });

  it('may come from a page of a listed origin', async () => {
    const response = await call(`/callback/${tokenFor()}`, {
      method: 'OPTIONS',
      headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });

  it('is in no line of the log', async () => {
    const token = tokenFor();
    const failing = tokenFor({ workflowId: 'broken' });
    Object.assign(engine, {
      signal: () => Promise.reject(new TypeError('a bug')),
    });
    expect((await post(`/callback/${failing}`, 1)).status).toBe(500);
    for (const path of [`/callback/${token}`, `//callback/${token}`, `/CALLBACK/${token}/more?x=${token}`]) {
      await call(path, { method: 'POST' });
      await call(path);
    }
    expect(lines.length).toBeGreaterThan(6);
    expect(lines.join('\n')).toContain('/callback/:token');
    for (const secret of [token, failing, token.split('.')[1]!])
      expect(lines.join('\n')).not.toContain(secret);
  });
});

describe('a token', () => {
  const reading = {
    ...tools,
    decode: (text: string) => Buffer.from(text, 'base64url').toString(),
    isSame: (a: string, b: string) => a === b,
  };

  it.each(['w', 'ü/🦊', ' spaces ', '"quotes"', 'a.b', 'x'.repeat(255)])(
    'carries the id %j',
    (workflowId) => {
      for (const isChecked of [true, false]) {
        const callback = { workflowId, callbackId: 'an-id', isChecked };
        const token = callbackToken(tools, 'k', callback);
        expect(token).toMatch(/^[\w-]+\.[\w-]{43}$/);
        expect(readCallbackToken(reading, 'k', token)).toEqual(callback);
        expect(readCallbackToken(reading, 'l', token)).toBeUndefined();
      }
    },
  );

  it.each([
    ['/callback/abc.def', '/callback/:token'],
    ['/callback/', '/callback/:token'],
    ['//callback/abc/more', '//callback/:token'],
    ['/workflow/callback/status', '/workflow/callback/status'],
  ])('is left out of %s', (path, logged) => {
    expect(withoutToken(path)).toBe(logged);
  });
});
