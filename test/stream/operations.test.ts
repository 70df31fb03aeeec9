/** What operators see of the real program: metrics, logs, and no secret in either. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Program, Workplace } from '../../src/cli/program.fixture.js';
import { StreamReader } from './stage.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));
const TOKEN = 'canary-token-0123456789-0123456789';
const WRONG_TOKEN = 'canary-guess-0123456789';
const PAYLOAD = 'canary-payload';

let workplace: Workplace;
let server: Program & { url: string };
let ticket: string;

beforeAll(async () => {
  workplace = new Workplace();
  server = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1', '--data', 'data'], {
    API_AUTH_TOKEN: TOKEN,
    LOG_LEVEL: 'debug',
    HOST: '127.0.0.1',
  });
});
afterAll(() => workplace.clear());

const call = (path: string, init: RequestInit = {}) =>
  fetch(server.url + path, {
    ...init,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...init.headers },
  });
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  call(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });
const read = (path: string) => new StreamReader(Number(new URL(server.url).port), path, {});

describe('a ticket', () => {
  it('opens one stream of its workflow, once', async () => {
    await post('/workflow/start', { workflowName: 'waits', workflowId: 'w', input: null });
    await post('/workflow/start', { workflowName: 'waits', workflowId: 'other', input: null });
    const issued = (await (await post('/workflow/w/stream-ticket', '')).json()) as Record<string, string>;
    expect(issued).toEqual({ ticket: expect.any(String), expiresAt: expect.any(String) });
    ticket = issued.ticket!;
    const expiresInMs = Date.parse(issued.expiresAt!) - Date.now();
    expect(expiresInMs).toBeGreaterThan(30_000);
    expect(expiresInMs).toBeLessThanOrEqual(60_000);

    expect((await fetch(`${server.url}/workflow/w/status?ticket=${ticket}`)).status).toBe(401);
    const stream = read(`/workflow/w/history/stream?ticket=${ticket}`);
    await stream.until(({ eventCount }) => eventCount > 0);
    stream.hangUp();
    expect(await read(`/workflow/w/history/stream?ticket=${ticket}`).status()).toBe(401);

    const second = (await (await post('/workflow/w/stream-ticket', '')).json()) as { ticket: string };
    expect(await read(`/workflow/other/history/stream?ticket=${second.ticket}`).status()).toBe(401);
    expect((await post('/workflow/nobody/stream-ticket', '')).status).toBe(404);
    expect((await fetch(`${server.url}/workflow/w/stream-ticket`, { method: 'POST' })).status).toBe(401);
  });
});

describe('metrics', () => {
  it('need the token', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  });

  it('tell of runs, turns, steps, commits, workers and the process', async () => {
    const reader = new StreamReader(Number(new URL(server.url).port), '/workflow/w/history/stream', {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    await reader.until(({ eventCount }) => eventCount > 0);
    await post('/workflow/run', { workflowName: 'echoes', input: 1 });
    await post('/workflow/run', { workflowName: 'fails', input: 1 });
    const response = await call('/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    for (const line of [
      /^perdure_runs_started_total\{workflow_type="echoes"\} 1$/m,
      /^perdure_runs_closed_total\{workflow_type="echoes",status="completed"\} 1$/m,
      /^perdure_runs_closed_total\{workflow_type="fails",status="failed"\} 1$/m,
      /^perdure_turn_duration_seconds_count\{workflow_type="echoes"\} 2$/m,
      /^perdure_step_attempt_duration_seconds_count\{step="echoes#repeats",outcome="completed"\} 1$/m,
      /^perdure_step_attempt_duration_seconds_count\{step="fails#breaks",outcome="failed"\} 2$/m,
      /^perdure_commit_duration_seconds_count [1-9]/m,
      /^perdure_commit_runs_sum [1-9]/m,
      /^perdure_queue_depth\{kind="turn"\} 0$/m,
      /^perdure_tasks_under_way\{kind="step"\} 0$/m,
      /^perdure_workers 1$/m,
      /^perdure_worker_restarts_total 0$/m,
      /^perdure_streams_open 1$/m,
      /^perdure_calls_waiting 0$/m,
      /^perdure_runs_in_memory \d/m,
      /^perdure_http_request_duration_seconds_count\{method="POST",route="\/workflow\/run",status="200"\} 2$/m,
      /^nodejs_eventloop_lag_p99_seconds /m,
      /^process_resident_memory_bytes /m,
    ]) {
      expect(text).toMatch(line);
    }
    expect(text).not.toContain('route="/workflow/w');
    reader.hangUp();
    await expect
      .poll(async () => (await call('/metrics')).text(), { timeout: 2_000 })
      .toMatch(/^perdure_streams_open 0$/m);
  });
});

describe('the log', () => {
  it('has a line for every call at debug, under its request id', async () => {
    await call('/workflow/w/status?x=canary-query', { headers: { 'x-request-id': 'my-call' } });
    await server.says(/"requestId":"my-call"/);
    const line = server
      .output()
      .split('\n')
      .find((each) => each.includes('my-call'))!;
    expect(JSON.parse(line)).toMatchObject({
      level: 20,
      requestId: 'my-call',
      method: 'GET',
      path: '/workflow/w/status',
      status: 200,
      msg: 'call',
    });
  });

  it('has no secret and no payload, whatever callers do', async () => {
    const secret = { deep: [PAYLOAD] };
    expect((await post('/workflow/run', { workflowName: 'echoes', input: secret })).status).toBe(200);
    expect((await post('/workflow/run', { workflowName: 'fails', input: secret })).status).toBe(200);
    expect((await post('/workflow/start', { workflowName: 'picky', input: { count: PAYLOAD } })).status).toBe(
      400,
    );
    expect((await post('/workflow/start', `{"workflowName": ${PAYLOAD}`)).status).toBe(400);
    expect((await post('/workflow/start', { workflowName: PAYLOAD, input: null })).status).toBe(400);
    expect((await post('/workflow/w/signal/tell', { payload: secret })).status).toBe(200);
    expect((await post('/workflow/w/query/none', { payload: secret })).status).toBe(404);
    expect((await call(`/workflow/w/history?pageToken=${PAYLOAD}`)).status).toBe(400);
    expect((await call(`/nowhere?q=${PAYLOAD}`)).status).toBe(404);
    for (const authorization of [
      `Bearer ${WRONG_TOKEN}`,
      `Basic ${btoa(`user:${WRONG_TOKEN}`)}`,
      WRONG_TOKEN,
    ]) {
      expect((await call('/workflow/w/status', { headers: { authorization } })).status).toBe(401);
    }
    expect(await read(`/workflow/w/history/stream?ticket=${ticket}`).status()).toBe(401);
    const basic = btoa(`user:${TOKEN}`);
    expect((await call('/workflow/w/status', { headers: { authorization: `Basic ${basic}` } })).status).toBe(
      200,
    );

    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    const output = server.output();
    expect(output).toContain('"msg":"shutting down"');
    expect(output).not.toContain('canary');
    expect(output).not.toContain(basic);
    expect(output).not.toContain(ticket);
    expect(output).not.toMatch(/authorization/i);
  });
});
