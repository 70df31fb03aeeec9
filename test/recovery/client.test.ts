/**
 * The client over a server that is killed by kill -9 and started again in the middle of its calls: one run for each, and
 * every event once.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient, type RunEvent } from '../../src/client/index.js';
import type counting from '../client/workflows/counting/workflow.js';
import { freePort, Service, temporaryFolder } from './service.js';

const workflows = fileURLToPath(new URL('../client/workflows', import.meta.url));

let data: ReturnType<typeof temporaryFolder>;
let port: number;
let service: Service;
let client: Client;

const start = async () => {
  service = await Service.start({ workflows, dataDir: data.path, port, flags: ['--spare-workers', '0'] });
};

beforeEach(async () => {
  data = temporaryFolder();
  port = await freePort();
  await start();
  client = createClient({ baseUrl: `http://127.0.0.1:${port}` });
});
afterEach(async () => {
  await service.kill();
  data.remove();
});

/** What is sent on it arrives; what comes back may not. */
async function wayTo(to: number) {
  const server = createServer((caller) => {
    const onward = connect(to, '127.0.0.1');
    caller.pipe(onward).on('error', () => {});
    caller.on('error', () => {}).on('close', () => onward.destroy());
    onward.on('data', (bytes) => way.losesAnswers || caller.write(bytes)).on('close', () => caller.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const way = { url, losesAnswers: false, close: () => void server.close() };
  return way;
}

/** The only runs there are, oldest first. */
async function allRuns() {
  const runs = [];
  for await (const run of client.runs()) runs.push(run);
  return runs.reverse();
}

/** Resolves when the workflow waits in the middle. */
async function untilWaiting(workflowId: string): Promise<void> {
  await expect
    .poll(
      () =>
        client
          .handle<typeof counting>(workflowId)
          .query('isWaiting')
          .catch(() => false),
      { timeout: 20_000 },
    )
    .toBe(true);
}

describe('a server that is killed', () => {
  it('in the middle of run: the same run is waited for', async () => {
    const counted = client.workflow<typeof counting>('counting').run({ to: 4, waitAt: 2 });
    await expect.poll(async () => (await client.runsPage()).count).toBe(1);
    const [{ workflowId } = { workflowId: '' }] = await allRuns();
    await untilWaiting(workflowId);
    await service.kill();
    await start();
    await client.handle<typeof counting>(workflowId).signal('go');
    expect(await counted).toEqual({ counted: 4 });
    expect(await allRuns()).toHaveLength(1);
  });

  it('when it has made the runs and nobody has heard of it: each is one run', async () => {
    const way = await wayTo(port);
    try {
      const orders = createClient({ baseUrl: way.url }).workflow<typeof counting>('counting');
      way.losesAnswers = true;
      const starts = Promise.all(Array.from({ length: 10 }, () => orders.start({ to: 1 })));
      await expect.poll(async () => (await client.runsPage()).count, { timeout: 20_000 }).toBe(10);
      await service.kill();
      way.losesAnswers = false;
      await start();
      const ids = (await starts).map(({ workflowId }) => workflowId);
      expect((await allRuns()).map(({ workflowId }) => workflowId).sort()).toEqual(ids.sort());
    } finally {
      way.close();
    }
  });

  it('in the middle of a history: every event of every run comes once', async () => {
    const handle = await client.workflow<typeof counting>('counting').start({ to: 17, waitAt: 7 });
    const seen: RunEvent[] = [];
    const following = (async () => {
      for await (const event of handle.history({ follow: true })) seen.push(event);
    })();
    await untilWaiting(handle.workflowId);
    await service.kill();
    await start();
    await handle.signal('go');
    expect(await handle.result()).toEqual({ counted: 17 });
    await following;

    const runs = await allRuns();
    expect(runs.length).toBeGreaterThanOrEqual(4);
    const written: RunEvent[] = [];
    for (const { workflowId, runId } of runs)
      for await (const event of client.handle(workflowId, runId).history()) written.push(event);
    expect(seen).toEqual(written);
  });
});
