import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { retryAfterOf } from '../core/run/retry.js';
import { sendHttpRequest, sendPostRequest } from './http-steps.js';
import { allowPrivateAddresses } from './outbound/exchange.js';

let server: Server;
let other: Server;
let base: string;
let otherBase: string;

function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  const url = new URL(request.url!, 'http://x');
  const to = url.searchParams.get('to');
  switch (url.pathname) {
    case '/echo':
      response.setHeader('content-type', 'application/json; charset=utf-8');
      response.setHeader('set-cookie', 'secret=1');
      response.end(JSON.stringify({ method: request.method, headers: request.headers, body }));
      break;
    case '/text':
      response.end('plain { text');
      break;
    case '/broken-json':
      response.setHeader('content-type', 'application/json');
      response.end('{');
      break;
    case '/status':
      response.statusCode = Number(url.searchParams.get('code'));
      if (url.searchParams.has('after')) response.setHeader('retry-after', url.searchParams.get('after')!);
      response.setHeader('content-type', 'application/json');
      response.end('{"why":"because"}');
      break;
    case '/redirect':
      response.statusCode = Number(url.searchParams.get('code') ?? 302);
      response.setHeader('location', to!);
      response.end();
      break;
    case '/loop':
      response.statusCode = 302;
      response.setHeader('location', '/loop');
      response.end();
      break;
    case '/switch':
      response.socket!.end(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n',
      );
      break;
    case '/large':
      response.end(Buffer.alloc(11 * 1024 * 1024, 'x'));
      break;
    default:
      response.statusCode = 404;
      response.end();
  }
}

async function listen(): Promise<[Server, string]> {
  const made = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()));
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return [made, `http://127.0.0.1:${(made.address() as AddressInfo).port}`];
}

beforeAll(async () => {
  allowPrivateAddresses('all');
  [server, base] = await listen();
  [other, otherBase] = await listen();
});
afterAll(async () => {
  for (const each of [server, other]) {
    each.closeAllConnections();
    await new Promise((resolve) => each.close(resolve));
  }
});

type Echo = { method: string; headers: Record<string, string>; body: string };

describe('Retry-After', () => {
  const refused = async (code: number, after: string): Promise<unknown> => {
    const url = `${base}/status?code=${code}&after=${encodeURIComponent(after)}`;
    const error: unknown = await sendHttpRequest({ url }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'HttpError', status: code });
    return retryAfterOf(error);
  };

  test.each([
    ['seconds', 429, '30', 30_000],
    ['none at all', 503, '0', 0],
    ['more than a day', 503, '99999999999', 86_400_000],
    ['a date that has passed', 429, 'Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['a date that is far', 503, 'Fri, 21 Oct 2950 07:28:00 GMT', 86_400_000],
  ])('%s', async (_what, code, after, expected) => expect(await refused(code, after)).toBe(expected));

  test('a date that is near', async () => {
    const ms = await refused(429, new Date(Date.now() + 600_000).toUTCString());
    expect(ms).toBeGreaterThan(500_000);
    expect(ms).toBeLessThanOrEqual(600_000);
  });

  test.each([
    ['of another answer', 500, '30'],
    ['of an answer that is not tried again', 404, '30'],
    ['that is neither', 429, 'soon'],
    ['that is negative', 429, '-5'],
    ['that is no whole number', 429, '1.5'],
  ])('%s says nothing', async (_what, code, after) => expect(await refused(code, after)).toBeUndefined());
});

describe('sendHttpRequest', () => {
  test('sends JSON and gives the answer', async () => {
    const response = await sendHttpRequest({
      url: `${base}/echo`,
      payload: { a: 1 },
      headers: { 'X-Own': 'y' },
    });
    expect(response).toMatchObject({ status: 200, ok: true, url: `${base}/echo` });
    expect(response.headers['content-type']).toContain('json');
    expect(response.headers).not.toHaveProperty('set-cookie');
    const echo = response.body as Echo;
    expect(echo).toMatchObject({ method: 'POST', body: '{"a":1}' });
    expect(echo.headers).toMatchObject({
      'content-type': 'application/json',
      'x-own': 'y',
      'idempotency-key': 'plain/sendHttpRequest',
    });
  });

  test('gets without a payload, and sends a text as it is when it has a type', async () => {
    const got = (await sendHttpRequest({ url: `${base}/echo` })).body as Echo;
    expect(got).toMatchObject({ method: 'GET', body: '' });
    expect(got.headers).not.toHaveProperty('idempotency-key');
    const headers = { 'Content-Type': 'text/csv' };
    const put = (await sendHttpRequest({ url: `${base}/echo`, method: 'PUT', payload: 'a,b', headers }))
      .body as Echo;
    expect(put).toMatchObject({ method: 'PUT', body: 'a,b' });
    expect(put.headers['content-type']).toBe('text/csv');
  });

  test('keeps of the answer what was asked for', async () => {
    expect((await sendHttpRequest({ url: `${base}/text` })).body).toBe('plain { text');
    expect((await sendHttpRequest({ url: `${base}/broken-json` })).body).toBe('{');
    await expect(
      sendHttpRequest({ url: `${base}/broken-json`, responseOptions: { body: 'json' } }),
    ).rejects.toThrow('not JSON');
    const little = await sendHttpRequest({
      url: `${base}/echo`,
      responseOptions: { headers: ['Content-Type'], body: false },
    });
    expect(little.body).toBeNull();
    expect(Object.keys(little.headers)).toEqual(['content-type']);
    const url = `${base}/status?code=500`;
    await expect(sendHttpRequest({ url, responseOptions: { body: false } })).rejects.toMatchObject({
      ...{ name: 'HttpError', status: 500, body: null },
    });
  });

  test.each([
    [400, true],
    [404, true],
    [408, false],
    [429, false],
    [500, false],
    [503, false],
  ])('%i fails, never retried: %s', async (code, nonRetryable) => {
    await expect(sendHttpRequest({ url: `${base}/status?code=${code}` })).rejects.toMatchObject({
      name: 'HttpError',
      status: code,
      nonRetryable,
      body: { why: 'because' },
    });
  });

  test.each([
    ['file:///etc/passwd', 'file: is not supported'],
    ['nonsense', 'is not a URL'],
    ['http://user:secret@localhost/', 'has a user or password'],
  ])('refuses %s', async (url, message) => {
    const refusal = sendHttpRequest({ url });
    await expect(refusal).rejects.toThrow(message);
    await expect(refusal).rejects.toMatchObject({ nonRetryable: true });
    await expect(refusal).rejects.not.toThrow('secret');
  });

  test('follows redirects, and drops credentials on the way to another origin', async () => {
    const headers = { authorization: 'Bearer x', cookie: 'a=b', 'x-api-key': 'y', accept: 'text/csv' };
    const same = await sendHttpRequest({ url: `${base}/redirect?to=/echo`, headers });
    expect((same.body as Echo).headers).toMatchObject(headers);
    expect(same.url).toBe(`${base}/echo`);
    const crossed = await sendHttpRequest({
      url: `${base}/redirect?to=${encodeURIComponent(`${otherBase}/echo`)}`,
      headers,
    });
    expect((crossed.body as Echo).headers).toMatchObject({ accept: 'text/csv' });
    for (const name of ['authorization', 'cookie', 'x-api-key']) {
      expect((crossed.body as Echo).headers).not.toHaveProperty(name);
    }
  });

  test('a body goes on to the same origin only, and where the answer says so', async () => {
    const kept = await sendHttpRequest({ url: `${base}/redirect?code=307&to=/echo`, payload: 1 });
    expect(kept.body).toMatchObject({ method: 'POST', body: '1' });
    const dropped = await sendHttpRequest({ url: `${base}/redirect?code=303&to=/echo`, payload: 1 });
    expect(dropped.body).toMatchObject({ method: 'GET', body: '' });
    const to = encodeURIComponent(`${otherBase}/echo`);
    await expect(sendHttpRequest({ url: `${base}/redirect?code=307&to=${to}`, payload: 1 })).rejects.toThrow(
      'redirects a request with a body',
    );
  });

  test('an answer that switches the protocol is none, and may be another one next time', async () => {
    const refusal = sendHttpRequest({ url: `${base}/switch` });
    await expect(refusal).rejects.toThrow('closed without an answer');
    await expect(refusal).rejects.not.toHaveProperty('nonRetryable');
  });

  test('a tunnel is no request', async () => {
    const refusal = sendHttpRequest({ url: `${base}/echo`, method: 'connect' as 'GET' });
    await expect(refusal).rejects.toThrow('CONNECT opens a tunnel');
    await expect(refusal).rejects.toMatchObject({ nonRetryable: true });
  });

  test.each([
    ['a line break', 'part one\npart two'],
    ['a character beyond Latin-1', 'pässwörd €'],
  ])('a secret of the environment with %s in it is not told', async (_what, secret) => {
    vi.stubEnv('PERDURE_TEST_SECRET', secret);
    const headers = { authorization: 'Bearer $PERDURE_TEST_SECRET' };
    const refusal = sendHttpRequest(
      Object.assign({ url: `${base}/echo`, headers }, { headerTemplates: true }),
    );
    const error = await refusal.catch((thrown: Error) => thrown);
    vi.unstubAllEnvs();
    expect(error).toMatchObject({ name: 'FatalError', message: expect.stringContaining('"authorization"') });
    expect(inspect(error)).not.toMatch(/part|pässwörd/);
  });

  test('messages of errors have no query in them, which may be a key', async () => {
    for (const url of ['/status?code=500&key=secret', '/loop?key=secret', '/large?key=secret']) {
      const error = await sendHttpRequest({ url: base + url }).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ message: expect.stringContaining(base + url.split('?')[0]) });
      expect((error as Error).message).not.toContain('secret');
    }
  });

  test('ends a loop of redirects, and an answer that is too large', async () => {
    await expect(sendHttpRequest({ url: `${base}/loop` })).rejects.toThrow('redirects more than 5 times');
    await expect(sendHttpRequest({ url: `${base}/large` })).rejects.toThrow('more than 10485760 bytes');
  });
});

test('sendPostRequest posts and keeps nothing of the answer', async () => {
  const response = await sendPostRequest({ url: `${base}/echo`, payload: { workflowId: 'w', payload: 1 } });
  expect(response).toMatchObject({ status: 200, headers: {}, body: null });
});
