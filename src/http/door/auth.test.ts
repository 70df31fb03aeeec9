import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpLimits } from '../../core/bounds/limits.js';
import { ScriptedEngine } from '../scripted-engine.fixture.js';
import { createServer, type HttpServer } from '../server.js';
import { isLoopbackHost } from './auth.js';

const TOKEN = 'a-secret-of-some-length+/=';
let server: HttpServer;

async function serve(token?: string, limits: Partial<HttpLimits> = {}): Promise<void> {
  server = createServer({ engine: new ScriptedEngine(), token, limits });
  await server.listen({ host: '127.0.0.1', port: 0 });
}

afterEach(() => server.close());

/** With headers as given, also those that fetch does not let through. */
function ask(
  path: string,
  headers: Record<string, string | string[]>,
  method = 'GET',
): Promise<{ status: number; challenge?: string; retryAfter?: string; body: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(server.url + path, { method, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          challenge: response.headers['www-authenticate'],
          retryAfter: response.headers['retry-after'],
          body,
        }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

const withGarbage = (text: string) => `${text.slice(0, 7)}%!${text.slice(7)}`;
/** The two lowest bits of the last character before one `=` belong to no byte. */
const withIdleBits = (text: string) =>
  text.replace(/.=$/, ([last]) => `${String.fromCharCode(last!.charCodeAt(0) + 1)}=`);
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('with a token', () => {
  it.each([
    ['the token itself', `Basic ${TOKEN}`],
    ['any user and the token', `Basic ${base64(`somebody:${TOKEN}`)}`],
    ['no user and the token', `Basic ${base64(`:${TOKEN}`)}`],
    ['a bearer token', `Bearer ${TOKEN}`],
    ['a lower-case scheme', `bearer ${TOKEN}`],
  ])('accepts %s', async (_what, authorization) => {
    await serve(TOKEN);
    expect((await ask('/workflow/catalog', { authorization })).status).toBe(200);
  });

  it.each([
    ['nothing', undefined],
    ['an empty header', ''],
    ['a scheme alone', 'Basic'],
    ['a scheme and a space', 'Basic '],
    ['another scheme', `Digest ${TOKEN}`],
    ['the token without a scheme', TOKEN],
    ['a wrong token', `Bearer ${TOKEN}x`],
    ['a part of the token', `Bearer ${TOKEN.slice(0, -1)}`],
    ['the token as the user', `Basic ${base64(`${TOKEN}:`)}`],
    ['garbage within the encoded token', `Basic ${withGarbage(base64(`somebody:${TOKEN}`))}`],
    ['garbage after the encoded token', `Basic ${base64(`somebody:${TOKEN}`)}!`],
    ['an encoded token of the other alphabet', `Basic ${base64(`??>>:${TOKEN}`).replaceAll('+', '-')}`],
    ['an encoded token with bits that say nothing', `Basic ${withIdleBits(base64(`ab:${TOKEN}`))}`],
    ['two headers', [`Bearer ${TOKEN}`, 'Bearer wrong']],
  ])('refuses %s', async (_what, authorization) => {
    await serve(TOKEN);
    const refused = await ask('/workflow/catalog', authorization === undefined ? {} : { authorization });
    expect(refused.status).toBe(401);
    expect(refused.challenge).toBe('Basic realm="perdure"');
    expect(JSON.parse(refused.body).error).toBe('UnauthorizedError');
    expect(refused.body).not.toContain(TOKEN);
  });

  it('accepts both of two tokens, and not the two as one', async () => {
    await serve('old-token, new-token');
    for (const [token, status] of [
      ['old-token', 200],
      ['new-token', 200],
      ['old-token,', 401],
      ['old-token,new-token', 401],
    ] as const) {
      expect((await ask('/workflow/catalog', { authorization: `Bearer ${token}` })).status).toBe(status);
    }
  });

  it('tells an address that guesses to come back later, and serves those there who know the token', async () => {
    await serve(TOKEN, { wrongTokens: 20 });
    const guess = (i: number) =>
      ask('/workflow/catalog', { authorization: `Bearer guess-${i}`, 'x-forwarded-for': `10.0.0.${i}` });
    for (let i = 0; i < 20; i++) expect((await guess(i)).status).toBe(401);
    const refused = await guess(20);
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.body).error).toBe('TooManyRequestsError');
    expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    expect(Number(refused.retryAfter)).toBeLessThanOrEqual(60);
    expect((await ask('/workflow/catalog', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    // Who shows nothing does not guess.
    expect((await ask('/workflow/catalog', {})).status).toBe(401);
  });

  it('guards every path, known or not, except health and ready', async () => {
    await serve(TOKEN);
    for (const [method, path] of [
      ['GET', '/workflow/catalog'],
      ['GET', '/workflow/x/status'],
      ['GET', '/workflow/%zz/status'],
      ['GET', '/nothing'],
      ['POST', '/health'],
      ['OPTIONS', '/workflow/run'],
      ['GET', '/workflow/run'],
    ] as const) {
      expect((await ask(path, {}, method)).status, `${method} ${path}`).toBe(401);
    }
    for (const method of ['GET', 'HEAD']) {
      expect((await ask('/health', {}, method)).status).toBe(200);
      expect((await ask('/ready', {}, method)).status).toBe(200);
    }
  });

  it('refuses before it reads the body, and closes the connection', async () => {
    await serve(TOKEN);
    const answered = await new Promise<{ status: number; connection: string | undefined; sent: boolean }>(
      (resolve, reject) => {
        const request = httpRequest(`${server.url}/workflow/run`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': 2_000_000 },
        });
        request.on('response', (response) => {
          response.resume();
          resolve({
            status: response.statusCode!,
            connection: response.headers.connection,
            sent: request.writableEnded,
          });
        });
        request.on('error', reject);
        request.write('{"workflowName"');
      },
    );
    expect(answered).toEqual({ status: 401, connection: 'close', sent: false });
  });
});

describe('without a token', () => {
  it('listens on loopback only', async () => {
    server = createServer({ engine: new ScriptedEngine() });
    await expect(server.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/loopback/);
  });

  it.each([
    ['localhost:3001', 200],
    ['127.0.0.1', 200],
    ['[::1]:80', 200],
    ['evil.example', 401],
    ['127.0.0.1.evil.example', 401],
    ['localhost.evil.example:3001', 401],
  ])('answers requests for the host %s with %i', async (host, status) => {
    await serve();
    expect((await ask('/workflow/catalog', { host })).status).toBe(status);
  });

  it('answers requests for no host at all with 401', async () => {
    await serve();
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write('GET /workflow/catalog HTTP/1.0\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it.each([
    ['http://localhost:5173', 200],
    ['https://evil.example', 401],
    ['null', 401],
  ])('answers pages from %s with %i', async (origin, status) => {
    await serve();
    expect((await ask('/workflow/catalog', { origin })).status).toBe(status);
  });

  it('knows loopback by its forms', () => {
    for (const host of ['localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'])
      expect(isLoopbackHost(host)).toBe(true);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.x', 'example.com', ''])
      expect(isLoopbackHost(host)).toBe(false);
    server = createServer({ engine: new ScriptedEngine() });
  });

  it('is not made by an empty token', () => {
    expect(() => createServer({ engine: new ScriptedEngine(), token: ' , ' })).toThrow(/empty/);
    server = createServer({ engine: new ScriptedEngine() });
  });
});
