import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../../core/errors.js';
import { segmentOfId } from '../../core/values/id-segment.js';
import { call, engine, post, serve, server, until } from '../served.fixture.js';

afterEach(() => server.close());

describe('run, status and result', () => {
  beforeEach(() => serve());

  it('answers the result', async () => {
    const response = await post('/workflow/run', { workflowName: 'echo', input: { a: 1 } });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({
      v: '2',
      workflowId: expect.stringMatching(/^echo-/),
      runId: expect.any(String),
      status: 'completed',
      input: { a: 1 },
      output: { a: 1 },
      trace: null,
      error: null,
    });
  });

  it('stops waiting when the time is up, and the run goes on', async () => {
    const response = await post('/workflow/run', {
      workflowName: 'wait',
      input: 1,
      workflowId: 'w',
      timeout: 1,
    });
    expect(response.status).toBe(408);
    const body = (await response.json()) as { runId: string };
    expect(body).toMatchObject({ error: 'WorkflowExecutionTimedOutError', workflowId: 'w' });
    const status = await call(`/workflow/w/runs/${body.runId.toUpperCase()}/status`);
    expect(await status.json()).toEqual({
      workflowId: 'w',
      runId: body.runId,
      workflowType: 'wait',
      catalog: 'default',
      status: 'running',
      startedAt: expect.any(Number),
      completedAt: null,
      historyLength: 3,
    });
  });

  it('frees the wait when the caller hangs up, from its beginning on', async () => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const caller = new AbortController();
    const waiting = call('/workflow/w/result?wait=60000', { signal: caller.signal }).catch(() => 'gone');
    await until(() => engine.waitingFor('w') === 1);
    expect(engine.abortableFor('w')).toBe(1);
    caller.abort();
    expect(await waiting).toBe('gone');
    await until(() => engine.waitingFor('w') === 0);
  });

  it('answers 424 while the run is open, and the result once it has ended', async () => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const open = await call('/workflow/w/result');
    expect(open.status).toBe(424);
    expect(await open.json()).toMatchObject({ error: 'WorkflowNotCompletedError', workflowId: 'w' });
    const waiting = call('/workflow/w/result?wait=60000');
    await until(() => engine.waitingFor('w') === 1);
    engine.end('w', { status: 'completed', output: '0' });
    expect(await (await waiting).json()).toMatchObject({ status: 'completed', output: 0 });
    expect((await call('/workflow/w/result?wait=0')).status).toBe(200);
  });

  it.each(['-1', '60001', '1.5', 'x', '', '1&wait=2'])('refuses wait=%s', async (wait) => {
    await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId: 'w' });
    expect((await call(`/workflow/w/result?wait=${wait}`)).status).toBe(400);
  });

  it('does not know other ids and other runs', async () => {
    await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId: 'w' });
    for (const path of ['/workflow/x', '/workflow/w/runs/0198c0de-0000-7000-8000-000000000000']) {
      for (const what of ['status', 'result']) {
        const response = await call(`${path}/${what}`);
        expect(response.status).toBe(404);
        expect(await response.json()).toMatchObject({ error: 'WorkflowNotFoundError' });
      }
    }
  });

  it('answers the input of the first run of a chain, and that of the run itself once the first is gone', async () => {
    const first = { workflowId: 'w', runId: 'the-first' };
    await post('/workflow/start', { workflowName: 'wait', input: 'of the latest', workflowId: 'w' });
    const latest = await engine.describe({ workflowId: 'w' });
    let isFirstKept = true;
    engine.describe = async ({ runId }) => {
      if (runId !== first.runId) return { ...latest, firstRunId: first.runId };
      if (isFirstKept) return { ...latest, ...first, input: '"of the first"' };
      throw new PerdureError('WorkflowNotFoundError', 'no such run', first);
    };
    const inputOf = async (path: string) => (await call(`/workflow/w/${path}`)).json();
    expect(await inputOf('input')).toEqual({ ...first, input: 'of the first' });
    const own = { workflowId: 'w', runId: latest.runId, input: 'of the latest' };
    expect(await inputOf(`runs/${latest.runId}/input`)).toEqual(own);
    isFirstKept = false;
    expect(await inputOf('input')).toEqual(own);
  });

  it('follows a chain of runs to its last one, and a pinned run nowhere', async () => {
    const start = await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId: 'w' });
    const { runId } = (await start.json()) as { runId: string };
    const { outcome } = engine;
    let follows: unknown[] = [];
    engine.outcome = (selector, options = {}) => {
      follows.push(options.followChain);
      return outcome.call(engine, selector, options);
    };
    for (const [path, isFollowed] of [
      ['result', true],
      ['result?wait=100', true],
      [`runs/${runId}/result`, false],
      [`runs/${runId}/result?wait=100`, false],
    ] as const) {
      follows = [];
      expect((await call(`/workflow/w/${path}`)).status).toBe(200);
      expect([path, follows]).toEqual([path, [isFollowed]]);
    }
    follows = [];
    expect((await post('/workflow/run', { workflowName: 'echo', input: 1 })).status).toBe(200);
    expect(follows).toEqual([true]);
  });

  it.each(['.', '..'])('finds a workflow whose id is %s', async (workflowId) => {
    await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId });
    const status = await call(`/workflow/${segmentOfId(workflowId)}/status`);
    expect(await status.json()).toMatchObject({ workflowId });
  });

  it('limits the calls that wait', async () => {
    await server.close();
    await serve({ limits: { waitingCalls: 1 } });
    const waiting = post('/workflow/run', { workflowName: 'wait', input: 1, workflowId: 'w' });
    await until(() => engine.starts.length === 1 && engine.waitingFor('w') === 1);
    const refused = await post('/workflow/run', { workflowName: 'echo', input: 1 });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBeTruthy();
    expect((await call('/workflow/w/result?wait=1')).status).toBe(429);
    expect((await call('/workflow/w/result')).status).toBe(424);
    expect(engine.starts).toHaveLength(1);
    engine.end('w', { status: 'completed' });
    expect((await waiting).status).toBe(200);
  });

  it('answers who waits when it closes, and takes no more', async () => {
    await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'v' });
    const run = post('/workflow/run', { workflowName: 'wait', input: 1, workflowId: 'w' });
    const result = call('/workflow/v/result?wait=60000');
    const waits = (id: string) => engine.waitingFor(id) === 1;
    await until(() => engine.starts.length === 2 && waits('w') && waits('v'));
    await server.close();
    expect((await run).status).toBe(503);
    expect(await (await run).json()).toMatchObject({ error: 'EngineUnavailableError', workflowId: 'w' });
    expect((await result).status).toBe(424);
    await expect(call('/health')).rejects.toThrow();
  });

  it.each([undefined, 'a-token-of-16-characters'])(
    'takes no call on a connection that was open before it closes (token: %s)',
    async (token) => {
      await server.close();
      await serve({ ...(token !== undefined && { token }), limits: { closeGraceMs: 60_000 } });
      const { hostname, port, host } = new URL(server.url);
      const accepted = once(server.raw, 'connection');
      const socket = connect(Number(port), hostname);
      await accepted;
      const closed = server.close();
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
      socket.write(`GET /workflow/catalog HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`);
      await once(socket, 'close');
      await closed;
      expect(answer).toMatch(/^HTTP\/1.1 503 .*The server is shutting down/s);
    },
  );
});
