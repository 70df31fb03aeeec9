/** An object store that fails in all the ways there are, met by the real client: traces never lie, hang or grow for it. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { complete, step } from '../../src/embedded/scripted-worker.fixture.js';
import type { RunRef } from '../../src/engine.js';
import { TOLD } from '../../src/trace/limited-log.js';
import { takeOneIn } from '../share.js';
import { CREDENTIALS } from './bucket.js';
import { answer, FaultyStore, hang, neverEnd, stall } from './faulty-store.js';
import { Scene, type SceneOptions, SHORT_RETENTION, until } from './scene.js';

takeOneIn(2);

/** A store that hangs is given up soon. */
const IMPATIENT = { storeIdleTimeoutMs: 500, storeTimeoutMs: 2_000 };

let store: FaultyStore;
let scene: Scene;

beforeEach(async () => {
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
  store = await FaultyStore.start();
});
afterEach(async () => {
  await scene.remove();
  await store.stop();
  vi.unstubAllEnvs();
});

const open = async (options: Partial<SceneOptions> = {}) => {
  scene = await Scene.open({ mode: 'on-demand', store: store.settings, limits: IMPATIENT, ...options });
};

const place = (run: RunRef) => ({ source: 'local', runId: run.runId, localPath: scene.path(run) });

/** A run whose trace has some megabytes. */
async function largeRun(): Promise<RunRef> {
  const run = await scene.startRun();
  await scene.worker.turn(...Array.from({ length: 10 }, (_, i) => step(i + 1)));
  const large = JSON.stringify('u'.repeat(400_000));
  for (let i = 0; i < 10; i++) scene.worker.completeStep(await scene.worker.next('step'), large);
  await scene.worker.turn();
  await scene.engine.terminate(run, 'enough');
  return run;
}

describe('what the store has', () => {
  it.each([
    ['a page', answer(200, '<html>log in first</html>')],
    ['nothing', answer(200)],
    ['no content', answer(204)],
    ['a list', answer(200, '[1]')],
    ['a beginning of nothing', stall('')],
    ['a redirect', answer(307, '<html>elsewhere</html>')],
    ['no permission', answer(403, '<html>no</html>')],
    ['nothing of that name, in words of its own', answer(404, 'not here')],
    ['an error without end', neverEnd(500)],
  ])('is no trace: %s, and the local one is told', async (_what, behaviour) => {
    await open();
    const run = await scene.run();
    store.on('GET', behaviour);
    expect(await scene.find(run)).toEqual(place(run));
    expect(scene.warnings).toContain('the trace of a run could not be fetched');
  });

  it('is passed on only up to the bound, whether its length was told or not', async () => {
    await open({ limits: { ...IMPATIENT, storedBytes: 100_000 } });
    const run = await scene.run();
    store.on('GET', neverEnd(200, '{'));
    const log = await scene.find(run);
    expect(log.source).toBe('remote');
    await expect(text(log.data!)).rejects.toThrow('more than 100000 bytes');
  });

  it('is not waited for when it stops in the middle', async () => {
    await open();
    const run = await scene.run();
    store.on('GET', stall('{"a'));
    const log = await scene.find(run);
    await expect(text(log.data!)).rejects.toThrow('sent nothing for 0.5 s');
    await until(() => store.pending === 0);
  });

  it('may take longer than an answer to begin', async () => {
    await open({ limits: { storeIdleTimeoutMs: 1_000, storeTimeoutMs: 1_000 } });
    const run = await scene.run();
    store.on('GET', async (_request, response) => {
      response.write('{');
      for (let i = 0; i < 8; i++) {
        await pause(200);
        response.write(' ');
      }
      response.end('}');
    });
    const log = await scene.find(run);
    expect(JSON.parse(await text(log.data!))).toEqual({});
  });
});

describe('an upload', () => {
  it('is none unless a store has taken it', async () => {
    await open();
    store.on('PUT', answer(200, '<html>log in first</html>'));
    const run = await scene.run();
    expect(await scene.find(run)).toEqual(place(run));
    expect(await scene.saved(run)).toEqual({ local: scene.path(run) });
  });

  it('may take longer by its size', async () => {
    await open();
    const run = await largeRun();
    store.on('PUT', (request, response) => {
      request.on('data', () => {
        request.pause();
        setTimeout(() => request.resume(), 10);
      });
      request.on('end', () => response.writeHead(200, { etag: '"1"' }).end());
    });
    await scene.find(run);
    expect(await scene.saved(run)).toMatchObject({ remote: expect.stringContaining(run.runId) });
  });

  it('is not read on when the refusal has no end', async () => {
    await open();
    store.on('PUT', neverEnd(400));
    const run = await scene.run();
    expect(await scene.find(run)).toEqual(place(run));
    await until(() => store.pending === 0);
    expect(store.mostTaken).toBeGreaterThan(2 ** 20);
    expect(store.mostTaken).toBeLessThan(20 * 2 ** 20);
  });

  it('that hangs is waited for once by all who ask, and by nobody while it waits to be tried again', async () => {
    await open({ limits: { ...IMPATIENT, firstRetryMs: 3_600_000, maxRetryMs: 3_600_000 } });
    store.on('PUT', hang);
    const run = await scene.run();
    const all = await Promise.all(Array.from({ length: 20 }, () => scene.find(run)));
    expect(new Set(all.map(({ source }) => source))).toEqual(new Set(['local']));
    await scene.find(run);
    expect(store.calls).toEqual(['PUT']);
  });

  it('that hangs leaves the file to be told to those who have waited for the run', async () => {
    await open({ mode: 'all', limits: { ...IMPATIENT, awaitedMs: 3_000, storeIdleTimeoutMs: 60_000 } });
    store.on('PUT', hang);
    const run = await scene.run();
    expect(await scene.traces.soon({ ...run, status: 'completed' })).toEqual({ local: scene.path(run) });
  });

  it('that hangs does not hold up the files of other runs', async () => {
    await open({ mode: 'all', limits: { storeIdleTimeoutMs: 2_000 } });
    store.on('PUT', hang);
    const runs: RunRef[] = [];
    for (let i = 0; i < 30; i++) runs.push(await scene.run());
    const began = performance.now();
    await until(() => runs.every((run) => scene.has(run)));
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it('that fails for many runs is tried again for some at a time, and told for some', async () => {
    await open({
      mode: 'all',
      limits: { firstRetryMs: 200, maxRetryMs: 200, choresAtOnce: 3 },
    });
    store.on('PUT', answer(503));
    const began = performance.now();
    const runs: RunRef[] = [];
    for (let i = 0; i < 60; i++) runs.push(await scene.run());
    await until(() => runs.every((run) => scene.has(run)));
    store.on('PUT', hang);
    await until(() => store.pending === 3);
    await pause(500);
    expect(store.mostPending).toBe(3);
    const told = scene.warnings.filter((line) => line.includes('could not be uploaded'));
    // However long it took: one line more for each of the windows says how often it was only counted.
    const windows = Math.ceil((performance.now() - began) / TOLD.withinMs) + 1;
    expect(told.length).toBeLessThanOrEqual(windows * (TOLD.lines + 1));
  });
});

describe('credentials that are never found', () => {
  it('hold up neither a caller nor the end of the service', async () => {
    await open();
    const config = join(scene.dataDir, 'aws-config');
    writeFileSync(config, '[default]\ncredential_process = sleep 20\n');
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
    vi.stubEnv('AWS_CONFIG_FILE', config);
    const run = await scene.run();
    expect(await scene.find(run)).toEqual(place(run));
    expect(store.calls).toEqual([]);
    const other = await scene.run();
    const asked = scene.find(other);
    await until(() => scene.has(other));
    await scene.traces.close();
    expect(await asked).toEqual(place(other));
  });
});

describe('removals', () => {
  it('are made some at a time', async () => {
    await open({ engineLimits: SHORT_RETENTION, limits: { choresAtOnce: 3 } });
    const runs: RunRef[] = [];
    for (let i = 0; i < 40; i++) {
      const run = await scene.run();
      runs.push(run);
      await scene.find(run).then((log) => log.data?.destroy());
    }
    store.on('DELETE', (request, response) => {
      request.resume();
      setTimeout(() => response.writeHead(204).end(), 20);
    });
    store.mostPending = 0;
    await scene.expire();
    await until(() => runs.every((run) => !scene.has(run)));
    expect(store.mostPending).toBeLessThanOrEqual(3);
  });

  it('that were given up are made later, without a start', async () => {
    const limits = { retries: 1, firstRetryMs: 10, waitingRetries: 2, choresAtOnce: 1, expireEveryMs: 200 };
    await open({ engineLimits: SHORT_RETENTION, limits });
    const runs: RunRef[] = [];
    for (let i = 0; i < 8; i++) {
      const run = await scene.run();
      runs.push(run);
      await scene.find(run).then((log) => log.data?.destroy());
    }
    store.on('DELETE', answer(403));
    await scene.expire();
    await until(() => scene.warnings.some((line) => line.includes('not tried again by itself')));
    expect(runs.every((run) => scene.has(run))).toBe(true);
    store.recover();
    await until(() => runs.every((run) => !scene.has(run)));
  });
});

describe('the folder', () => {
  it('is swept although something in it cannot be removed', async () => {
    await open({ engineLimits: SHORT_RETENTION });
    const runs = [await scene.run(), await scene.run()];
    for (const run of runs) await scene.find(run).then((log) => log.data?.destroy());
    await scene.traces.close();
    await scene.expire();
    for (const name of ['.0.tmp', '.a.tmp', '.z.tmp']) mkdirSync(join(scene.folder, name));
    await scene.restart({ mode: 'on-demand', store: store.settings });
    await until(() => runs.every((run) => !scene.has(run)));
  });

  it('that somebody has removed is made again', async () => {
    await open();
    const run = await scene.run(complete('1'));
    rmSync(scene.folder, { recursive: true });
    await scene.find(run).then((log) => log.data?.destroy());
    expect(scene.read(run)).toMatchObject({ output: 1 });
  });
});
