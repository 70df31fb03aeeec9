/** How the dashboard is served: to everybody, cached by its names, and never more than it. */
import { readdirSync } from 'node:fs';
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ScriptedEngine } from '../scripted-engine.fixture.js';
import { createServer, type HttpServer, type ServerOptions } from '../server.js';

const BUILT = new URL('../../../dist/ui/assets/', import.meta.url);
const servers: HttpServer[] = [];

async function serve(options: Partial<ServerOptions> = {}): Promise<string> {
  const server = createServer({ engine: new ScriptedEngine(), ...options });
  servers.push(server);
  await server.listen({ host: '127.0.0.1', port: 0 });
  return server.url;
}

afterAll(() => Promise.all(servers.map((server) => server.close())));

/** As it is written: fetch would tidy the path up first. */
function raw(url: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; text: string; headers: Record<string, unknown> }>(
    (resolve, reject) => {
      const { hostname, port } = new URL(url);
      get({ hostname, port, path, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }));
      }).on('error', reject);
    },
  );
}

describe.each([undefined, 'a-token'])('with the token %s', (token) => {
  let url: string;
  beforeAll(async () => {
    url = await serve({ token });
  });

  it.each(['/ui/', '/ui/runs', '/ui/runs/a%2Fb/c', '/ui/anything.at.all'])(
    'is the page at %s',
    async (path) => {
      const page = await fetch(url + path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('cache-control')).toBe('no-cache');
      expect(page.headers.get('x-content-type-options')).toBe('nosniff');
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      const policy = page.headers.get('content-security-policy')!;
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
      // What the page names is found from that address, also behind a proxy with a path.
      const base = new URL(
        /<base href="([^"]+)">/.exec(await page.clone().text())![1]!,
        `http://proxy/some/where${path}`,
      );
      expect(base.href).toBe('http://proxy/some/where/ui/');
      const text = await page.text();
      expect(text).not.toMatch(/https?:|"\/|<script>|<style|style=/);
      expect(text).toContain(`name="perdure-token" content="${token ? 'needed' : 'none'}"`);
    },
  );

  it('loads all that the page names, for a year, by names that change with the content', async () => {
    const page = await (await fetch(`${url}/ui/`)).text();
    const names = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) {
      const asset = await fetch(`${url}/ui/${name}`);
      expect(asset.status, name).toBe(200);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect((await asset.text()).length).toBeGreaterThan(100);
    }
  });

  it('answers 304 to whoever has it', async () => {
    const first = await fetch(`${url}/ui/`);
    const etag = first.headers.get('etag')!;
    expect((await fetch(`${url}/ui/`, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await fetch(`${url}/ui/`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('is compressed for those who take it so', async () => {
    const script = readdirSync(BUILT).find((name) => name.endsWith('.js'))!;
    const path = `/ui/assets/${script}`;
    expect((await raw(url, path, { 'accept-encoding': 'br, gzip' })).headers['content-encoding']).toBe(
      'gzip',
    );
    for (const none of ['identity', 'gzip;q=0', 'br']) {
      expect((await raw(url, path, { 'accept-encoding': none })).headers['content-encoding']).toBeUndefined();
    }
  });

  it.each([
    '/ui/assets/none.js',
    '/ui/assets/..%2findex.html',
    '/ui/assets/..%2f..%2fcli%2fmain.js',
    '/ui/assets/%2e%2e%2findex.html',
    '/ui/assets/',
  ])('has no file at %s', async (path) => {
    const { status, text } = await raw(url, path);
    expect(status).toBe(404);
    expect(text).toContain('NotFoundError');
  });

  it.each([
    '/ui/../package.json',
    '/ui/assets/../../cli/main.js',
    '/ui/%2e%2e/%2e%2e/package.json',
    '/ui//etc/passwd',
  ])('is at most the page at %s', async (path) => {
    const { status, text } = await raw(url, path);
    expect([200, 400, 401, 404]).toContain(status);
    if (status === 200) expect(text).toContain('<title>perdure</title>');
  });

  it('is where browsers are led to', async () => {
    for (const [from, to] of [
      ['/', 'ui/'],
      ['/ui', 'ui/'],
    ] as const) {
      const answer = await fetch(url + from, { headers: { accept: 'text/html' }, redirect: 'manual' });
      expect([answer.status, answer.headers.get('location')]).toEqual([302, to]);
    }
  });

  it('is not there when it is turned off', async () => {
    const bare = await serve({ token, ui: false });
    const authorization = `Bearer ${token}`;
    for (const path of ['/ui', '/ui/', '/ui/runs']) {
      expect((await fetch(bare + path)).status).toBe(token ? 401 : 404);
      expect((await fetch(bare + path, { headers: { authorization } })).status).toBe(404);
    }
    const root = await fetch(bare, { headers: { accept: 'text/html', authorization }, redirect: 'manual' });
    expect(root.headers.get('location')).toBe('docs');
    const places = await (await fetch(bare, { headers: { authorization } })).json();
    expect(places).not.toHaveProperty('ui');
  });
});

it('without a token is for this machine only', async () => {
  const url = await serve();
  expect((await raw(url, '/ui/', { host: 'rebound.example' })).status).toBe(401);
});

it('lets nobody else in', async () => {
  const url = await serve({ token: 'a-token' });
  for (const path of ['/workflow/runs', '/', '/docs', '/uix', '/ui%2f', '/UI/']) {
    expect((await fetch(url + path)).status, path).toBe(401);
  }
});
