/** Traces on Temporal: written by the process that runs the workers, and made by any server when they are asked for. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { Bucket, CREDENTIALS } from '../trace/bucket.js';
import { until } from '../trace/scene.js';
import { DevServer } from './dev-server.js';
import { describeTemporal } from './required.js';

const WORKFLOWS = fileURLToPath(new URL('../trace/workflows', import.meta.url));

describeTemporal('traces', () => {
  let cluster: DevServer;
  let workplace: Workplace;
  beforeAll(async () => {
    cluster = await DevServer.start();
  });
  afterAll(() => cluster?.stop());
  beforeEach(() => {
    workplace = new Workplace();
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await workplace.clear();
  });

  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by name
  type Body = any;
  async function call(url: string, body?: unknown): Promise<Body> {
    const headers = { 'content-type': 'application/json' };
    const post = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(url, body === undefined ? {} : post)).json();
  }
  const run = (url: string, workflowName: string, input: unknown = null): Promise<Body> =>
    call(`${url}/workflow/run`, { workflowName, input });
  const environment = (more: Record<string, string> = {}) => ({
    PERDURE_ENGINE: 'temporal',
    TEMPORAL_ADDRESS: cluster.address,
    ...more,
  });
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Body;

  it('on demand: any server makes them, and nothing stands in the history', async () => {
    const server = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1'], environment());
    const other = await workplace.serve(['--data', 'other'], environment());
    const { workflowId, runId, trace } = await run(server.url, 'greet', 'you');
    expect(trace).toBeNull();
    for (const [{ url }, folder] of [
      [server, '.perdure'],
      [other, 'other'],
    ] as const) {
      const localPath = join(workplace.folder, folder, 'traces', `${runId}.json`);
      expect(await call(`${url}/workflow/${workflowId}/trace-log`)).toEqual({
        source: 'local',
        runId,
        localPath,
      });
      expect(read(localPath)).toMatchObject({
        name: 'greet',
        input: 'you',
        output: 'hello you',
        status: 'completed',
      });
    }
    const hidden = await run(server.url, 'discreet');
    const log = await call(`${other.url}/workflow/${hidden.workflowId}/trace-log`);
    expect(log).toMatchObject({ error: 'TraceNotAvailableError' });
  });

  it('all: workers write them when runs close, and results tell where they are', async () => {
    for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
    const bucket = await Bucket.start();
    try {
      const store = {
        ...CREDENTIALS,
        TRACE_BUCKET: bucket.settings.bucket,
        TRACE_ENDPOINT: bucket.settings.endpoint!,
      };
      const server = await workplace.serve(['--data', 'server'], environment(store));
      const args = ['worker', WORKFLOWS, '--workers', '1', '--traces', 'all', '--data', 'worker'];
      const worker = workplace.perdure(args, environment(store));
      await worker.says(/the workers are ready/);

      const { workflowId, runId, trace } = await run(server.url, 'greet', 'you');
      const local = join(workplace.folder, 'worker', 'traces', `${runId}.json`);
      const remote = `s3://${bucket.settings.bucket}/traces/${runId}.json`;
      expect(trace).toEqual({ local, remote });
      await until(() => existsSync(local));
      expect(read(local)).toMatchObject({ output: 'hello you', status: 'completed' });
      const log = await call(`${server.url}/workflow/${workflowId}/trace-log`);
      expect(log).toMatchObject({ source: 'remote', runId, data: { output: 'hello you' } });
      const { trace: hidden } = await run(server.url, 'discreet');
      expect(hidden).toBeNull();

      // Other code, and workers that write none: what has closed is replayed all the same.
      worker.child.kill('SIGTERM');
      expect(await worker.exited).toBe(0);
      const next = workplace.perdure(
        ['worker', WORKFLOWS, '--workers', '1', '--traces', 'off'],
        environment(),
      );
      await next.says(/the workers are ready/);
      const query = await call(`${server.url}/workflow/${workflowId}/query/nobody`, {});
      expect(query).toMatchObject({ error: 'HandlerNotFoundError' });
      expect((await run(server.url, 'greet', 'me')).trace).toBeNull();
    } finally {
      await bucket.remove();
    }
  });

  it('failed: of runs that ended badly alone', async () => {
    const args = ['--workflows', WORKFLOWS, '--workers', '1', '--traces', 'failed'];
    const server = await workplace.serve(args, environment());
    expect((await run(server.url, 'greet', 'you')).trace).toBeNull();
    const { runId, trace } = await run(server.url, 'refused');
    expect(trace).toEqual({ local: join(workplace.folder, '.perdure', 'traces', `${runId}.json`) });
    await until(() => existsSync(trace.local));
    expect(read(trace.local)).toMatchObject({ status: 'failed', runId });
  });
});
