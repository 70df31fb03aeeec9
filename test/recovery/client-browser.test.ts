/** The client on a page of another origin, in a real browser, over a server that is killed in the middle. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type * as perdure from '../../src/client/index.js';
import { launch, type Site, serveSite } from '../browser/chromium.js';
import { describeInBrowser } from '../browser/required.js';
import { freePort, Service, temporaryFolder } from './service.js';

const workflows = fileURLToPath(new URL('../client/workflows', import.meta.url));
const entry = fileURLToPath(new URL('../../dist/client/index.js', import.meta.url));

/** What the page has. */
declare const window: {
  perdure: typeof perdure;
  client: perdure.Client;
  found: unknown;
  answered: number;
  isKilled: boolean;
};

describeInBrowser('the client in a browser', () => {
  let data: ReturnType<typeof temporaryFolder>;
  let port: number;
  let service: Service;
  let site: Site;
  let browser: Browser;
  let page: Page;

  const start = async () => {
    service = await Service.start({
      ...{ workflows, dataDir: data.path, port },
      flags: ['--spare-workers', '0', '--cors-origins', site.origin],
    });
  };

  beforeAll(async () => {
    data = temporaryFolder();
    port = await freePort();
    const bundle = await build({
      entryPoints: [entry],
      bundle: true,
      minify: true,
      format: 'esm',
      write: false,
    });
    site = await serveSite({
      '/': '<!doctype html><script type="module" src="/page.js"></script>',
      '/client.js': bundle.outputFiles[0]!.text,
      '/page.js': `import * as perdure from './client.js';
        window.perdure = perdure;
        window.client = perdure.createClient({ baseUrl: 'http://127.0.0.1:${port}', token: 'sent, so that the browser asks first' });`,
    });
    [browser] = await Promise.all([launch(), start()]);
    page = await browser.newPage();
    await page.goto(site.origin);
    await page.waitForFunction(() => window.client !== undefined);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await service?.kill();
    data?.remove();
  });

  it('runs a workflow and gives its output', async () => {
    const output = await page.evaluate(() => window.client.workflow('counting').run({ to: 2 }));
    expect(output).toEqual({ counted: 2 });
  });

  it('throws errors of the classes that it exports', async () => {
    const told = await page.evaluate(async () => {
      const { createClient, ValidationError, ConnectionError } = window.perdure;
      const { client } = window;
      const caught = (promise: Promise<unknown>) =>
        promise.catch((error: unknown) => error) as Promise<Error>;
      const invalid = await caught(client.workflow('counting').start({ to: 'x' }));
      const nowhere = createClient({ baseUrl: 'http://127.0.0.1:9', retryForMs: 0 });
      return {
        invalid: [invalid instanceof ValidationError, invalid.name, invalid.message],
        nowhere: (await caught(nowhere.health())) instanceof ConnectionError,
      };
    });
    expect(told.invalid.slice(0, 2)).toEqual([true, 'ValidationError']);
    expect(told.invalid[2]).toContain('input.to');
    expect(told).toMatchObject({ nowhere: true });
  });

  it('follows a history and waits for a run over a server that is killed: every event once, one run', async () => {
    const workflowId = await page.evaluate(async () => {
      const handle = await window.client.workflow('counting').start({ to: 12, waitAt: 3 });
      const follow = async () => {
        const seen: string[] = [];
        for await (const { runId, eventId } of handle.history({ follow: true }))
          seen.push(`${runId}/${eventId}`);
        return { seen, output: await handle.result() };
      };
      window.found = follow();
      return handle.workflowId;
    });
    const ask = (query: string) =>
      page.evaluate(([id, name]) => window.client.handle(id!).query(name!), [workflowId, query] as const);
    await expect.poll(() => ask('isWaiting')).toBe(true);
    await service.kill();
    await start();
    await page.evaluate((id) => window.client.handle(id).signal('go'), workflowId);
    const { seen, output } = (await page.evaluate(() => window.found)) as {
      seen: string[];
      output: unknown;
    };
    expect(output).toEqual({ counted: 12 });
    const written = await page.evaluate(async (id) => {
      const events: string[] = [];
      const runs = [];
      for await (const run of window.client.runs({ workflowId: id })) runs.unshift(run);
      for (const { runId } of runs)
        for await (const { eventId } of window.client.handle(id, runId).history())
          events.push(`${runId}/${eventId}`);
      return events;
    }, workflowId);
    expect(written.length).toBeGreaterThan(30);
    expect(seen).toEqual(written);
  });

  it('runs and starts over a server that is killed: each call is one run', async () => {
    await page.evaluate(() => {
      window.answered = 0;
      window.isKilled = false;
      const counting = window.client.workflow('counting');
      window.found = (async () => {
        const output = counting.run({ to: 4, waitAt: 2 }, { workflowId: 'run-in-browser' });
        const ids: string[] = [];
        // Each has always one call under way, also when the server has gone: those meet the next one.
        const callers = Array.from({ length: 10 }, async () => {
          while (!window.isKilled) {
            ids.push((await counting.start({ to: 1 })).workflowId);
            window.answered++;
          }
        });
        await Promise.all(callers);
        return { ids, output: await output };
      })();
    });
    await expect
      .poll(() => page.evaluate(() => window.answered), { interval: 1, timeout: 60_000 })
      .toBeGreaterThan(0);
    await service.kill();
    await page.evaluate(() => {
      window.isKilled = true;
    });
    await start();
    const isWaiting = () =>
      page.evaluate(() =>
        window.client
          .handle('run-in-browser')
          .query('isWaiting')
          .catch(() => false),
      );
    await expect.poll(isWaiting).toBe(true);
    await page.evaluate(() => window.client.handle('run-in-browser').signal('go'));
    const { ids, output } = (await page.evaluate(() => window.found)) as { ids: string[]; output: unknown };
    expect(output).toEqual({ counted: 4 });
    const listed = await page.evaluate(async () => {
      const found: string[] = [];
      for await (const { workflowId } of window.client.runs()) found.push(workflowId);
      return found;
    });
    // Those of the tests before it have one run each with an id of their own, or are chains.
    for (const id of [...ids, 'run-in-browser']) expect(listed.filter((each) => each === id)).toHaveLength(1);
    expect(new Set(ids).size).toBe(ids.length);
    const before = new Set(listed).size - ids.length - 1;
    expect(before).toBe(2);
  });
});
