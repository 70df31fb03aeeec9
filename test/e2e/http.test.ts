/** The HTTP API over the whole service: real server process, real workers, real database. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Program, Workplace } from '../../src/cli/program.fixture.js';

const WORKFLOWS = fileURLToPath(new URL('workflows', import.meta.url));

let workplace: Workplace;
let server: Program & { url: string };

beforeAll(async () => {
  workplace = new Workplace();
  server = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1']);
});
afterAll(() => workplace.clear());

type Body = Record<string, unknown> & { workflowId: string; runId: string };

async function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

async function get(path: string): Promise<{ status: number; body: Body }> {
  const response = await fetch(server.url + path);
  return { status: response.status, body: (await response.json()) as Body };
}

const run = (workflowName: string, input: unknown, more: object = {}) =>
  post('/workflow/run', { workflowName, input, ...more });

describe('a synchronous run', () => {
  it.each([0, false, '', null, [], {}, 'ü \u2028 \ud800 "', { a: [{ b: 1.5e300 }], 'key with "': null }])(
    'gives %j back as it came',
    async (value) => {
      const { status, body } = await run('echo', value);
      expect(status).toBe(200);
      expect(body).toMatchObject({ v: '2', status: 'completed', trace: null, error: null });
      expect(body.input).toEqual(value);
      expect(body.output).toEqual(value);
    },
  );

  it('carries a value of some size', async () => {
    const value = 'x'.repeat(1_000_000);
    expect((await run('echo', value)).body.output).toBe(value);
  });

  it('says null when a workflow returns nothing', async () => {
    expect((await run('nothing', null)).body).toMatchObject({ status: 'completed', output: null });
  });

  it('is a success of the call also when the workflow fails, and names the error', async () => {
    const { status, body } = await run('declined', null);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'failed', output: null });
    expect(body.error).toEqual({
      name: 'CardDeclined',
      message: 'no funds',
      activityType: 'declined#decline',
      code: 51,
      cause: { name: 'TypeError', message: 'socket closed' },
    });
  });

  it('tells that the workflow ran out of time', async () => {
    expect((await run('expiring', null)).body).toMatchObject({
      status: 'timed_out',
      output: null,
      error: { name: 'TimeoutError' },
    });
  });

  it('follows continue-as-new to the end of the chain', async () => {
    const { body } = await run('countDown', 3, { workflowId: 'chain' });
    expect(body).toMatchObject({ status: 'completed', input: 3, output: 'done' });
    const latest = await get('/workflow/chain/status');
    expect(latest.body.runId).toBe(body.runId);
    const pinned = await get(`/workflow/chain/runs/${body.runId}/result`);
    expect(pinned.body).toMatchObject({ status: 'completed', output: 'done' });
  });

  it('ends the wait in time, and the run goes on', async () => {
    const { status, body } = await run('wait', 500, { workflowId: 'slow', timeout: 10 });
    expect(status).toBe(408);
    expect(body).toMatchObject({ error: 'WorkflowExecutionTimedOutError', workflowId: 'slow' });
    expect((await get('/workflow/slow/result')).status).toBe(424);
    expect((await get(`/workflow/slow/runs/${body.runId}/result?wait=30000`)).body).toMatchObject({
      status: 'completed',
      output: 'waited',
    });
  });
});

describe('ids and keys', () => {
  it.each([
    'a/b',
    'a..b',
    '%2F',
    'ü',
    'ñ'.normalize('NFD'),
    '🦊',
    ' spaces ',
    'a?b#c',
    "'; --",
    '\\',
    'x'.repeat(255),
  ])('takes the id %j and finds it again', async (workflowId) => {
    const started = await post('/workflow/start', { workflowName: 'echo', input: workflowId, workflowId });
    expect(started).toMatchObject({ status: 200, body: { workflowId } });
    const result = await get(`/workflow/${encodeURIComponent(workflowId)}/result?wait=10000`);
    expect(result.body).toMatchObject({ workflowId, output: workflowId });
  });

  it('gives one id to one of many concurrent starts', async () => {
    const starts = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        post('/workflow/start', { workflowName: 'echo', input: i, workflowId: 'one' }),
      ),
    );
    expect(starts.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(starts.filter(({ status }) => status === 409)).toHaveLength(99);
  });

  it('makes one run of a thousand concurrent calls with one key', async () => {
    const key = { 'idempotency-key': 'a thousand' };
    const body = { workflowName: 'echo', input: { a: 1 } };
    const calls = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) =>
        post(i % 2 === 0 ? '/workflow/run' : '/workflow/start', body, key),
      ),
    );
    expect(calls.every(({ status }) => status === 200)).toBe(true);
    expect(new Set(calls.map((call) => call.body.runId)).size).toBe(1);
    expect((await post('/workflow/run', { ...body, input: { a: 2 } }, key)).status).toBe(422);
  });
});

describe('the catalog', () => {
  it('lists what the worker registered', async () => {
    const { body } = await get('/workflow/catalog');
    const workflows = body.workflows as { name: string; inputSchema: unknown; steps: { name: string }[] }[];
    expect(workflows.map(({ name }) => name).sort()).toEqual([
      'countDown',
      'declined',
      'echo',
      'expiring',
      'nothing',
      'wait',
    ]);
    expect(workflows.find(({ name }) => name === 'wait')?.inputSchema).toMatchObject({ type: 'number' });
    expect(workflows.find(({ name }) => name === 'echo')?.inputSchema).toBeNull();
    expect(workflows.find(({ name }) => name === 'declined')?.steps).toMatchObject([{ name: 'decline' }]);
  });

  it('guards the door: an input that does not fit starts nothing', async () => {
    const { status, body } = await run('wait', 'soon', { workflowId: 'never' });
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path: ['input'], code: 'type' }]);
    expect((await get('/workflow/never/status')).status).toBe(404);
  });
});
