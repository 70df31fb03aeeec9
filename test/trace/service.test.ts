/** The commands with their settings for traces: the built program, with real workers. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { Bucket, CREDENTIALS } from './bucket.js';
import { until } from './scene.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

let workplace: Workplace;
beforeEach(() => {
  workplace = new Workplace();
});
afterEach(() => workplace.clear());

type Body = Record<string, unknown> & { runId: string; workflowId: string };

async function call(url: string, body?: unknown): Promise<Body> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(
    url,
    body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) },
  );
  return (await response.json()) as Body;
}

const run = (url: string, workflowName: string, input: unknown = null) =>
  call(`${url}/workflow/run`, { workflowName, input });

describe('perdure serve', () => {
  it('writes a trace when it is asked for, also after a restart', async () => {
    const args = ['--workflows', WORKFLOWS, '--workers', '1'];
    const first = await workplace.serve(args);
    const { workflowId, runId, trace } = await run(first.url, 'greet', 'you');
    expect(trace).toBeNull();
    const localPath = join(workplace.folder, '.perdure', 'traces', `${runId}.json`);
    expect(existsSync(localPath)).toBe(false);
    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);

    const second = await workplace.serve(args);
    const log = await call(`${second.url}/workflow/${workflowId}/trace-log`);
    expect(log).toMatchObject({ source: 'local', runId });
    expect(JSON.parse(readFileSync(log.localPath as string, 'utf8'))).toMatchObject({
      name: 'greet',
      input: 'you',
      output: 'hello you',
    });
    const hidden = await run(second.url, 'discreet');
    expect(await call(`${second.url}/workflow/${hidden.workflowId}/trace-log`)).toMatchObject({
      error: 'TraceNotAvailableError',
    });
  });

  it('names the trace in the answer of a call that has waited for the run', async () => {
    const { url } = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1'], { TRACES: 'all' });
    for (const [workflowName, input] of [
      ['greet', 'you'],
      ['refused', null],
      // A chain: the trace is that of its last run.
      ['counting', 2],
    ] as const) {
      const { runId, trace } = await run(url, workflowName, input);
      const local = join(workplace.folder, '.perdure', 'traces', `${runId}.json`);
      expect(trace).toEqual({ local });
      expect(JSON.parse(readFileSync(local, 'utf8'))).toMatchObject({ runId, name: workflowName });
    }
    expect(await run(url, 'discreet')).toMatchObject({ status: 'completed', trace: null });
    const { workflowId } = await call(`${url}/workflow/start`, { workflowName: 'greet', input: 'you' });
    expect(await call(`${url}/workflow/${workflowId}/result?wait=20000`)).toMatchObject({
      trace: { local: expect.any(String) },
    });
  });

  it('uploads to the configured bucket', async () => {
    for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
    const bucket = await Bucket.start();
    try {
      const { url } = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1'], {
        ...CREDENTIALS,
        TRACES: 'all',
        TRACE_BUCKET: 'traces',
        TRACE_ENDPOINT: bucket.endpoint,
      });
      const forged = { remote: 's3://others/secret' };
      const { workflowId, runId } = await run(url, 'forging', forged);
      await until(() => bucket.keys().length === 1);
      const log = await call(`${url}/workflow/${workflowId}/trace-log`);
      expect(log).toMatchObject({ source: 'remote', runId, data: { name: 'forging', input: forged } });
    } finally {
      await bucket.remove();
      vi.unstubAllEnvs();
    }
  });

  it.each<[string, Record<string, string>, number, RegExp]>([
    ['an unknown mode', { TRACES: 'sometimes' }, 2, /all, failed, on-demand, off/],
    ['a bucket without a region', { TRACE_BUCKET: 'traces' }, 1, /AWS_REGION/],
    ['an endpoint that is no URL', { TRACE_BUCKET: 'traces', TRACE_ENDPOINT: 'here' }, 2, /URL/],
  ])('refuses %s in one line', async (_what, env, code, message) => {
    const program = workplace.perdure(['serve', '--port', '0'], env);
    expect(await program.exited).toBe(code);
    expect(program.output()).toMatch(message);
    expect(program.output().trim().split('\n')).toHaveLength(1);
  });
});

describe('perdure dev', () => {
  it('writes the trace of every run', async () => {
    const program = workplace.perdure(['dev', WORKFLOWS, '--port', '0']);
    const [url] = await program.says(/http:\/\/127\.0\.0\.1:\d+/);
    const { runId } = await run(url, 'greet', 'you');
    const file = join(workplace.folder, '.perdure', 'traces', `${runId}.json`);
    await until(() => existsSync(file));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ runId, output: 'hello you' });
  });
});
