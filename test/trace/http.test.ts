/** `trace-log` over HTTP, and what results say of traces. */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newRunId } from '../../src/core/values/id.js';
import type { EmbeddedEngine } from '../../src/embedded/index.js';
import { complete } from '../../src/embedded/scripted-worker.fixture.js';
import type { Engine, RunRef } from '../../src/engine.js';
import { createServer, type HttpServer } from '../../src/http/index.js';
import { Traces } from '../../src/trace/index.js';
import { Bucket, CREDENTIALS } from './bucket.js';
import { FaultyStore } from './faulty-store.js';
import { Scene, type SceneOptions } from './scene.js';

let scene: Scene;
let server: HttpServer;
let bucket: Bucket | undefined;

beforeAll(() => {
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
});

async function serve(options: SceneOptions, hasTraces = true): Promise<void> {
  scene = await Scene.open(options);
  server = createServer({ engine: scene.engine, ...(hasTraces && { traces: scene.traces }) });
  await server.listen({ host: '127.0.0.1', port: 0 });
}

afterEach(async () => {
  await server.close();
  await scene.remove();
  await bucket?.remove();
  bucket = undefined;
});

async function get(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(server.url + path);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const paths = ({ workflowId, runId }: RunRef) => ({
  latest: `/workflow/${encodeURIComponent(workflowId)}`,
  pinned: `/workflow/${encodeURIComponent(workflowId)}/runs/${runId}`,
});

describe('without an object store', () => {
  beforeEach(() => serve({ mode: 'on-demand' }));

  it('answers with the path of the local file, for the latest run and for a pinned one', async () => {
    const run = await scene.run(complete(), 'a/../b');
    const expected = {
      status: 200,
      body: { source: 'local', runId: run.runId, localPath: scene.path(run) },
    };
    expect(await get(`${paths(run).latest}/trace-log`)).toEqual(expected);
    expect(await get(`${paths(run).pinned}/trace-log`)).toEqual(expected);
    expect(scene.read(run)).toMatchObject(run);
  });

  it('says in results where it is, from when it is there', async () => {
    const run = await scene.run();
    expect((await get(`${paths(run).latest}/result`)).body).toMatchObject({ trace: null });
    await get(`${paths(run).latest}/trace-log`);
    expect((await get(`${paths(run).latest}/result`)).body).toMatchObject({
      trace: { local: scene.path(run) },
    });
  });

  it('brings the trace along where that is asked for', async () => {
    const run = await scene.run();
    const place = { source: 'local', runId: run.runId, localPath: scene.path(run) };
    for (const path of Object.values(paths(run))) {
      const inlined = await get(`${path}/trace-log?inline=true`);
      expect(inlined).toEqual({ status: 200, body: { ...place, data: scene.read(run) } });
      expect(await get(`${path}/trace-log?inline=false`)).toEqual({ status: 200, body: place });
      expect(await get(`${path}/trace-log?inline=perhaps`)).toMatchObject({ status: 400 });
    }
  });

  it('brings along only what is a trace of this server', async () => {
    const run = await scene.run();
    await get(`${paths(run).latest}/trace-log`);
    const secret = join(scene.dataDir, 'secret.json');
    writeFileSync(secret, '{"secret":true}');
    rmSync(scene.path(run));
    symlinkSync(secret, scene.path(run));
    const { body } = await get(`${paths(run).latest}/trace-log?inline=true`);
    expect(body).toMatchObject({ data: { runId: run.runId } });
    expect(body).not.toHaveProperty('data.secret');
  });

  it('answers 424 while the run is open', async () => {
    const run = await scene.startRun('open');
    for (const path of Object.values(paths(run))) {
      expect(await get(`${path}/trace-log`)).toMatchObject({
        status: 424,
        body: { error: 'WorkflowNotCompletedError', ...run },
      });
    }
  });

  it.each([
    'nobody',
    '..%2f..%2fetc%2fpasswd',
    '....%2f%2f',
    '%2e%2e%5c%2e%2e',
    '%2fetc%2fpasswd',
    'con',
    'a.',
    'x'.repeat(255),
  ])('answers 404 for the unknown id %s', async (id) => {
    expect(await get(`/workflow/${id}/trace-log`)).toMatchObject({
      status: 404,
      body: { error: 'WorkflowNotFoundError' },
    });
    expect(await get(`/workflow/${id}/runs/${newRunId(0)}/trace-log`)).toMatchObject({ status: 404 });
    expect(scene.names()).toEqual([]);
  });

  it.each(['..%2f..%2fetc%2fpasswd', 'a%00b', 'x'.repeat(4_000)])('refuses the run id %s', async (runId) => {
    const run = await scene.run();
    expect(await get(`${paths(run).latest}/runs/${runId}/trace-log`)).toMatchObject({ status: 400 });
  });

  it('does not find a run under the id of another workflow', async () => {
    const run = await scene.run();
    const other = await scene.run();
    const path = paths({ workflowId: other.workflowId, runId: run.runId }).pinned;
    expect(await get(`${path}/trace-log`)).toMatchObject({ status: 404 });
  });
});

it('passes on no file beyond the bound, and says where it is', async () => {
  await serve({ mode: 'on-demand', limits: { inlinedBytes: 100 } });
  const run = await scene.run();
  const body = { source: 'local', runId: run.runId, localPath: scene.path(run) };
  expect(await get(`${paths(run).latest}/trace-log?inline=true`)).toEqual({ status: 200, body });
});

describe('with an object store', () => {
  beforeEach(async () => {
    bucket = await Bucket.start();
    await serve({ mode: 'on-demand', store: bucket.settings });
  });

  it('inlines the trace', async () => {
    const run = await scene.run(complete('{"text":"\\ud83e\\udd8a"}'));
    const { status, body } = await get(`${paths(run).pinned}/trace-log`);
    expect(status).toBe(200);
    expect(body).toEqual({ source: 'remote', runId: run.runId, data: scene.read(run) });
    expect(body.data).toMatchObject({ output: { text: '🦊' } });
    expect((await get(`${paths(run).latest}/result`)).body).toMatchObject({
      trace: { local: scene.path(run), remote: `s3://traces/traces/${run.runId}.json` },
    });
  });
});

describe('where there are no traces', () => {
  it.each<[string, SceneOptions, boolean]>([
    ['the server keeps none', { mode: 'off' }, true],
    ['the workflow wants none', { mode: 'all', settings: { disableTrace: true } }, true],
    ['the program that embeds the server has none', { mode: 'off' }, false],
  ])('since %s: 404, and 424 as long as the run is open', async (_why, options, hasTraces) => {
    await serve(options, hasTraces);
    const open = await scene.startRun();
    await scene.worker.turn();
    expect(await get(`${paths(open).latest}/trace-log`)).toMatchObject({ status: 424 });
    const run = await scene.run();
    expect(await get(`${paths(run).latest}/trace-log`)).toMatchObject({
      status: 404,
      body: { error: 'TraceNotAvailableError', ...run },
    });
  });
});

describe('with little space left', () => {
  it('makes no trace, says so, and gives those that are there', async () => {
    await serve({ mode: 'on-demand' });
    const run = await scene.run();
    await get(`${paths(run).latest}/trace-log`);
    const other = await scene.run();
    await server.close();
    await scene.traces.close();
    // What is there and what there is not are told without a word to a store that may take nothing.
    const seen = (engine: EmbeddedEngine): Engine =>
      new Proxy(engine, {
        get(target, name) {
          if (name === 'recordTrace') return () => new Promise(() => {});
          const value = Reflect.get(target, name, target) as unknown;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    const limits = { lowWaterBytes: Number.MAX_SAFE_INTEGER };
    const traces = await Traces.open({
      ...{ engine: seen(scene.engine), mode: 'on-demand', dataDir: scene.dataDir, limits },
    });
    server = createServer({ engine: scene.engine, traces });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const body = { source: 'local', runId: run.runId, localPath: scene.path(run) };
    expect(await get(`${paths(run).latest}/trace-log`)).toEqual({ status: 200, body });
    writeFileSync(scene.path(other), '{}');
    expect(await get(`${paths(other).latest}/trace-log`)).toMatchObject({ status: 200 });
    rmSync(scene.path(other));
    const refused = await fetch(`${server.url}${paths(other).latest}/trace-log`);
    expect(refused.status).toBe(507);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    expect(await refused.json()).toMatchObject({ error: 'StorageFullError', runId: other.runId });
    await traces.close();
  });
});

describe('a caller who has gone', () => {
  it('leaves no connection to the store behind', async () => {
    const store = await FaultyStore.start();
    try {
      await serve({ mode: 'on-demand', store: store.settings });
      const run = await scene.run();
      const gone = new AbortController();
      const asked = new Promise<() => void>((resolve) => {
        store.on('GET', (_request, response) => resolve(() => void response.write('{')));
      });
      const path = `${paths(run).latest}/trace-log`;
      const call = fetch(server.url + path, { signal: gone.signal }).catch(() => {});
      const begin = await asked;
      gone.abort();
      await call;
      begin();
      await vi.waitFor(() => expect(store.pending).toBe(0), 5_000);
    } finally {
      await store.stop();
    }
  });
});

describe('a store that never answers', () => {
  it('is given up when the service ends', async () => {
    const held = createNetServer();
    const asked = new Promise<void>((resolve) => held.once('connection', () => resolve()));
    await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
    const { port } = held.address() as { port: number };
    const store = { bucket: 'traces', region: 'eu-central-1', endpoint: `http://127.0.0.1:${port}` };
    await serve({ mode: 'on-demand', store });
    const run = await scene.run();
    const answer = get(`${paths(run).latest}/trace-log`);
    await asked;
    await scene.traces.close();
    expect((await answer).body).toMatchObject({ source: 'local' });
    held.close();
  });
});
