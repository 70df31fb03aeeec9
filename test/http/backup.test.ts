/** A copy of everything, taken over HTTP while the service goes on, and a service that starts from it. */
import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { checkDataFolder } from '../../src/embedded/store/check/check.js';
import { createServer, type HttpServer } from '../../src/http/index.js';

const folders: string[] = [];
let dataDir: string;
let engine: EmbeddedEngine;
let server: HttpServer;

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-backup-'));
  folders.push(folder);
  return folder;
}

beforeEach(async () => {
  dataDir = await newFolder();
  engine = EmbeddedEngine.open({ dataDir });
  server = createServer({ engine, limits: { closeGraceMs: 100 } });
  await server.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  await server.close();
  await engine.close();
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

const start = (workflowId: string, text = '') =>
  engine.start({ workflowType: 'w', catalog: 'default', input: [JSON.stringify(text)], workflowId });

const unfinished = () => readdirSync(dataDir).filter((name) => name.startsWith('backup-'));

it('is a whole state with all that was acknowledged before, while starts go on', async () => {
  const before = Array.from({ length: 200 }, (_, i) => `before-${i}`);
  await Promise.all(before.map((id) => start(id, 'x'.repeat(5_000))));
  let isOver = false;
  let during = 0;
  const writing = (async () => {
    for (; !isOver; during++) await start(`during-${during}`, 'y'.repeat(5_000));
  })();
  const response = await fetch(`${server.url}/backup`, { method: 'POST' });
  const bytes = Buffer.from(await response.arrayBuffer());
  isOver = true;
  await writing;
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/vnd.sqlite3']);
  expect(response.headers.get('content-length')).toBe(String(bytes.length));
  expect(during).toBeGreaterThan(0);
  expect(unfinished()).toEqual([]);

  const restored = await newFolder();
  writeFileSync(join(restored, 'perdure.db'), bytes);
  expect(checkDataFolder(restored).problems).toEqual([]);
  const copy = EmbeddedEngine.open({ dataDir: restored });
  try {
    for (const workflowId of before) expect((await copy.describe({ workflowId })).status).toBe('running');
  } finally {
    await copy.close();
  }
});

it('is made one at a time', async () => {
  await Promise.all(Array.from({ length: 100 }, (_, i) => start(`w-${i}`, 'x'.repeat(20_000))));
  const [first, second] = await Promise.allSettled([engine.backup(), engine.backup()]);
  expect(first.status).toBe('fulfilled');
  expect(second).toMatchObject({ reason: { name: 'TooManyRequestsError' } });
  await (first as PromiseFulfilledResult<Awaited<ReturnType<EmbeddedEngine['backup']>>>).value.discard();
  await (await engine.backup()).discard();
});

it('leaves nothing behind when its caller hangs up', async () => {
  await Promise.all(Array.from({ length: 100 }, (_, i) => start(`w-${i}`, 'x'.repeat(100_000))));
  const openFiles = () => readdirSync('/proc/self/fd').length;
  const before = openFiles();
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => {
      const asked = request(`${server.url}/backup`, { method: 'POST' }, (response) => {
        response.once('data', () => asked.destroy());
        response.once('close', resolve);
        response.on('error', () => {});
      });
      asked.on('error', () => {});
      asked.end();
    });
  }
  const deadline = performance.now() + 10_000;
  while (openFiles() > before && performance.now() < deadline) await new Promise(setImmediate);
  expect(openFiles()).toBeLessThanOrEqual(before);
  expect(unfinished()).toEqual([]);
});

it('takes no body that says something', async () => {
  const headers = { 'content-type': 'application/json' };
  const empty = await fetch(`${server.url}/backup`, { method: 'POST', headers, body: '{}' });
  expect(empty.status).toBe(200);
  await empty.arrayBuffer();
  const wrong = await fetch(`${server.url}/backup`, { method: 'POST', headers, body: '[]' });
  expect(wrong.status).toBe(400);
});

it('of a process that died over it is removed at the next start', async () => {
  await engine.close();
  writeFileSync(join(dataDir, 'backup-123-1.tmp'), 'half of it');
  writeFileSync(join(dataDir, 'backup-123-1.tmp-journal'), '');
  writeFileSync(join(dataDir, 'backup-of-mine.tmp'), 'not ours');
  engine = EmbeddedEngine.open({ dataDir });
  expect(unfinished()).toEqual(['backup-of-mine.tmp']);
});
