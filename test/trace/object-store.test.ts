/** Traces in an object store: a real server of the protocol, met by the real client. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_TRACE_LIMITS } from '../../src/core/bounds/limits.js';
import { complete, step } from '../../src/embedded/scripted-worker.fixture.js';
import type { RunRef } from '../../src/engine.js';
import { ObjectStore } from '../../src/trace/object-store.js';
import { Bucket, CREDENTIALS } from './bucket.js';
import { Scene, type SceneOptions, SHORT_RETENTION, until } from './scene.js';

/** Retries that a test can wait for. */
const SOON = { firstRetryMs: 20, maxRetryMs: 50, retries: 1_000 };

let bucket: Bucket;
let scene: Scene;

beforeAll(() => {
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
});
beforeEach(async () => {
  bucket = await Bucket.start();
});
afterEach(async () => {
  await scene?.remove();
  await bucket.remove();
});
afterAll(() => vi.unstubAllEnvs());

const open = async (options: Partial<SceneOptions> = {}) => {
  scene = await Scene.open({ mode: 'on-demand', store: bucket.settings, limits: SOON, ...options });
};

const key = ({ runId }: RunRef) => `traces/${runId}.json`;
const uri = (run: RunRef) => `s3://traces/${key(run)}`;

/** What `trace-log` inlines. */
async function fetched(run: RunRef): Promise<unknown> {
  const log = await scene.find(run);
  if (log.source === 'local') return log;
  return { source: log.source, runId: log.runId, data: JSON.parse(await text(log.data)) };
}

describe('a trace that a worker of another maker has stored', () => {
  it('is the one that is told, and no other is made', async () => {
    await open();
    const run = await scene.run();
    const theirs = { remote: 's3://traces/runs/pay/2026-01-01_pay.json', local: '/logs/2026-01-01_pay.json' };
    await scene.engine.recordTrace(run, theirs);
    await bucket.put('runs/pay/2026-01-01_pay.json', '{"kind":"workflow","id":"theirs"}');
    expect(await fetched(run)).toEqual({
      source: 'remote',
      runId: run.runId,
      data: { kind: 'workflow', id: 'theirs' },
    });
    // Where it cannot be read, the file that its worker has written is what is left of it.
    await bucket.delete('runs/pay/2026-01-01_pay.json');
    expect(await fetched(run)).toEqual({ source: 'local', runId: run.runId, localPath: theirs.local });
    expect(await scene.saved(run)).toEqual(theirs);
    expect(bucket.keys()).toEqual([]);
  });

  it('is read under the address that it gives, and only from the bucket of traces', async () => {
    await open();
    const store = await ObjectStore.open(bucket.settings, DEFAULT_TRACE_LIMITS);
    await bucket.put('runs/pay/a b.json', '{"kind":"workflow"}');
    const read = async (address: string) => {
      const data = await store.get(address);
      return data && text(data);
    };
    const { bucket: name } = bucket.settings;
    for (const address of [
      `s3://${name}/runs/pay/a b.json`,
      `https://${name}.s3.amazonaws.com/runs/pay/a%20b.json`,
      `https://${name}.s3.eu-west-1.amazonaws.com/runs/pay/a%20b.json`,
    ]) {
      expect(await read(address)).toBe('{"kind":"workflow"}');
    }
    for (const address of [
      's3://others/runs/pay/a b.json',
      `https://others.s3.amazonaws.com/runs/pay/a%20b.json`,
      `https://${name}.s3.amazonaws.com.example.com/runs/pay/a%20b.json`,
      `http://${name}.s3.amazonaws.com/runs/pay/a%20b.json`,
      `https://${name}.s3.amazonaws.com/%`,
      '/runs/pay/a b.json',
    ]) {
      expect(await read(address)).toBeUndefined();
    }
    store.close();
  });
});

describe('a trace', () => {
  it('is uploaded when it is first asked for, and fetched back', async () => {
    await open();
    const run = await scene.run();
    expect(bucket.keys()).toEqual([]);
    const expected = { source: 'remote', runId: run.runId, data: expect.objectContaining(run) };
    expect(await fetched(run)).toEqual(expected);
    expect(bucket.keys()).toEqual([key(run)]);
    expect(await bucket.get(key(run))).toEqual({
      type: 'application/json',
      text: readFileSync(scene.path(run), 'utf8'),
    });
    expect(await scene.saved(run)).toEqual({ local: scene.path(run), remote: uri(run) });
  });

  it('is uploaded in the background with TRACES=all', async () => {
    await open({ mode: 'all' });
    const run = await scene.run();
    await until(() => scene.saved(run));
    expect(await scene.saved(run)).toEqual({ local: scene.path(run), remote: uri(run) });
    expect(bucket.keys()).toEqual([key(run)]);
  });

  it('of some megabytes arrives whole', async () => {
    await open();
    const run = await scene.startRun();
    await scene.worker.turn(...Array.from({ length: 20 }, (_, i) => step(i + 1)));
    const large = JSON.stringify('ü'.repeat(200_000));
    for (let i = 0; i < 20; i++) scene.worker.completeStep(await scene.worker.next('step'), large);
    await scene.worker.turn();
    await scene.engine.terminate(run, 'enough');
    const { data } = (await fetched(run)) as { data: { children: { output: string | null }[] } };
    const outputs = data.children.map(({ output }) => output?.length ?? 0);
    expect(outputs).toHaveLength(20);
    expect(Math.max(...outputs)).toBe(200_000);
    expect(data).toEqual(scene.read(run));
  });

  it('is fetched, not made again', async () => {
    await open();
    const run = await scene.run();
    await fetched(run);
    await bucket.put(key(run), '{"changed":true}');
    expect(await fetched(run)).toMatchObject({ data: { changed: true } });
  });

  it('that somebody removed from the bucket is uploaded again', async () => {
    await open();
    const run = await scene.run();
    await fetched(run);
    await bucket.delete(key(run));
    expect(await fetched(run)).toMatchObject({ source: 'remote', data: run });
    expect(bucket.keys()).toEqual([key(run)]);
  });

  it('that is far too large is not passed on', async () => {
    await open({ limits: { ...SOON, storedBytes: 1_000 } });
    const run = await scene.run();
    await bucket.put(key(run), 'x'.repeat(1_001));
    await scene.engine.recordTrace(run, { remote: uri(run) });
    expect(await fetched(run)).toMatchObject({ source: 'local' });
  });
});

describe('where a trace is', () => {
  it('does not follow from what a workflow returned', async () => {
    await open();
    await bucket.put('secret', '"secret"', 'others');
    const forged = JSON.stringify({
      trace: { remote: 's3://others/secret', destinations: { remote: 's3://others/secret' } },
    });
    const run = await scene.run(complete(forged));
    expect(await fetched(run)).toMatchObject({ source: 'remote', data: { runId: run.runId } });
  });

  it('is in the configured bucket only', async () => {
    await open();
    await bucket.put('secret', '"secret"', 'others');
    const run = await scene.run();
    await scene.engine.recordTrace(run, { remote: 's3://others/secret' });
    expect(await fetched(run)).toMatchObject({ source: 'remote', data: { runId: run.runId } });
    expect(await scene.saved(run)).toMatchObject({ remote: uri(run) });
  });
});

describe('a store that cannot be reached', () => {
  it('costs no run anything: the local file is there, and the upload is made up for', async () => {
    await open();
    await bucket.stop();
    const run = await scene.run();
    expect(await fetched(run)).toEqual({ source: 'local', runId: run.runId, localPath: scene.path(run) });
    expect(await scene.saved(run)).toEqual({ local: scene.path(run) });
    expect(scene.warnings.join()).toContain('could not be uploaded');
    await bucket.start();
    await until(async () => (await scene.saved(run))?.remote);
    expect(bucket.keys()).toEqual([key(run)]);
    expect(await fetched(run)).toMatchObject({ source: 'remote' });
  });

  it('is replaced by the local file while it is away', async () => {
    await open();
    const run = await scene.run();
    await fetched(run);
    await bucket.stop();
    expect(await fetched(run)).toMatchObject({ source: 'local' });
    expect(scene.warnings.join()).toContain('could not be fetched');
  });

  it('is given up after some attempts, until somebody asks', async () => {
    await open({ limits: { ...SOON, retries: 2 } });
    await bucket.stop();
    const run = await scene.run();
    await fetched(run);
    await until(() => scene.warnings.some((line) => line.includes('not tried again by itself')));
    await bucket.start();
    expect(await fetched(run)).toMatchObject({ source: 'remote' });
  });

  it('refuses those with the wrong secret, and nobody waits for it', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong');
    await open();
    const run = await scene.run();
    expect(await fetched(run)).toMatchObject({ source: 'local' });
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.AWS_SECRET_ACCESS_KEY);
    expect(bucket.keys()).toEqual([]);
  });

  it('does not hold up the end of the service', async () => {
    await open({ limits: {} });
    await bucket.stop();
    const run = await scene.run();
    await fetched(run);
    // The retries that are due would take minutes.
    await scene.stop();
  });
});

describe('an object', () => {
  it('leaves with its run', async () => {
    await open({ engineLimits: SHORT_RETENTION });
    const run = await scene.run();
    await fetched(run);
    await scene.expire();
    await until(() => !scene.has(run));
    expect(bucket.keys()).toEqual([]);
  });

  it('that could not be removed is removed when the store is back', async () => {
    await open({ engineLimits: SHORT_RETENTION });
    const run = await scene.run();
    await fetched(run);
    await bucket.stop();
    await scene.expire();
    await until(() => scene.warnings.some((line) => line.includes('could not be removed')));
    expect(scene.has(run)).toBe(true);
    await bucket.start();
    await until(() => !scene.has(run));
    expect(bucket.keys()).toEqual([]);
  });

  it('that is still owed a removal when the process ends is removed after the next start', async () => {
    await open({ engineLimits: SHORT_RETENTION });
    const run = await scene.run();
    await fetched(run);
    await scene.traces.close();
    await scene.expire();
    expect(bucket.keys()).toEqual([key(run)]);
    await scene.restart({ mode: 'on-demand', store: bucket.settings });
    await until(() => !scene.has(run));
    expect(bucket.keys()).toEqual([]);
  });
});

describe('the client package', () => {
  it('is asked for by name when it is not installed', async () => {
    await open();
    const missing = () => import('@aws-sdk/client-that-is-not-there' as string);
    await expect(ObjectStore.open(bucket.settings, DEFAULT_TRACE_LIMITS, missing)).rejects.toMatchObject({
      name: 'ObjectStoreError',
      message: expect.stringContaining('npm install @aws-sdk/client-s3'),
    });
  });
});
