/** POST /workflow/run and POST /workflow/start. */
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned } from '../client.js';

export function starting(client: () => Client): void {
  const both = ['/workflow/run', '/workflow/start'];

  describe('POST /workflow/run', () => {
    it.each([0, false, '', null, [], {}, { a: [{ b: 'ü' }] }])('gives %j back', async (value) => {
      const { status, body } = await client().post('/workflow/run', { workflowName: 'echo', input: value });
      expect(status).toBe(200);
      expect(body).toEqual({
        v: '2',
        workflowId: expect.stringMatching(/^echo-[a-z0-9]{12}$/),
        runId: expect.stringMatching(/^[0-9a-f-]{14}7[0-9a-f-]{21}$/),
        status: 'completed',
        input: value,
        output: value,
        trace: null,
        error: null,
      });
    });

    it('says null for no output', async () => {
      const { body } = await client().post('/workflow/run', { workflowName: 'nothing', input: 1 });
      expect(body).toMatchObject({ status: 'completed', output: null, error: null });
    });

    it('takes whatever the schema of the workflow takes, and refuses what it never would', async () => {
      const run = (input: unknown) => client().post('/workflow/run', { workflowName: 'lenient', input });
      expect((await run({ id: 'a', count: '7', note: '  abc  ', more: true })).body).toMatchObject({
        status: 'completed',
        output: { id: 'a', count: 7, note: 'abc', size: 'M' },
      });
      const { body } = await run({ id: 'a' });
      expect(body).toMatchObject({ status: 'completed', output: { id: 'a', count: 1, size: 'M' } });
      expect((await client().post(`${latest(body)}/query/count`)).body).toBe(1);
      expectError(await run({ id: 7 }), 400, 'ValidationError');
      // What only the parser can tell, the run tells.
      expect((await run({ id: 'a', count: 'many' })).body).toMatchObject({
        status: 'failed',
        error: { name: 'ValidationError' },
      });
    });

    it('is 200 when the workflow fails, and tells the error without a stack', async () => {
      const { status, body } = await client().post('/workflow/run', { workflowName: 'declined', input: 1 });
      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'failed', input: 1, output: null });
      expect(body.error).toEqual({
        name: 'CardDeclined',
        message: 'no funds',
        code: 51,
        activityType: 'declined#decline',
        cause: { name: 'TypeError', message: 'socket closed' },
      });
    });

    it('tells that the workflow timed out', async () => {
      const { body } = await client().post('/workflow/run', { workflowName: 'expires', input: 1 });
      expect(body).toMatchObject({ status: 'timed_out', output: null, error: { name: 'TimeoutError' } });
    });

    it('follows continue-as-new to the end of the chain', async () => {
      const start = { workflowName: 'countsDown', input: 3, workflowId: 'run-chain' };
      const { body } = await client().post('/workflow/run', start);
      expect(body).toMatchObject({ status: 'completed', input: 3, output: 'done' });
      expect((await client().get('/workflow/run-chain/status')).body.runId).toBe(body.runId);
    });

    it('is 408 when the time is up, and the run goes on', async () => {
      const start = { workflowName: 'collects', input: 1, timeout: 20 };
      const reply = await client().post('/workflow/run', start);
      expectError(reply, 408, 'WorkflowExecutionTimedOutError');
      const { workflowId, runId } = reply.body;
      expect((await client().get(`/workflow/${workflowId}/runs/${runId}/status`)).body.status).toBe(
        'running',
      );
    });

    it.each([0, -1, 1.5, 3_600_001, '10', true])('refuses the timeout %j', async (timeout) => {
      const reply = await client().post('/workflow/run', { workflowName: 'echo', input: 1, timeout });
      expectError(reply, 400, 'ValidationError');
      expect(reply.body.issues[0].path).toEqual(['timeout']);
    });

    it('leaves the run alone when the caller hangs up', async () => {
      const start = { workflowName: 'collects', input: 1, workflowId: 'hung-up' };
      const caller = new AbortController();
      const gone = fetch(`${client().url}/workflow/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(start),
        signal: caller.signal,
      }).catch(() => 'gone');
      while ((await client().get('/workflow/hung-up/status')).status !== 200);
      caller.abort();
      expect(await gone).toBe('gone');
      await client().post('/workflow/hung-up/signal/finish');
      expect((await client().result({ workflowId: 'hung-up' })).body.status).toBe('completed');
    });
  });

  describe('POST /workflow/start', () => {
    it('answers with the run, which is listed and found at once', async () => {
      const reply = await client().post('/workflow/start', { workflowName: 'collects', input: 1 });
      expect(Object.keys(reply.body)).toEqual(['workflowId', 'runId']);
      const { workflowId, runId } = reply.body;
      const list = await client().get(`/workflow/runs?workflowId=${workflowId}`);
      expect(list.body.runs).toMatchObject([{ workflowId, runId, status: 'running' }]);
    });

    it('knows no timeout', async () => {
      const start = { workflowName: 'echo', input: 1, timeout: 1_000 };
      const reply = await client().post('/workflow/start', start);
      expectError(reply, 400, 'ValidationError');
      expect(reply.body.issues).toMatchObject([{ path: ['timeout'], code: 'unrecognized_keys' }]);
    });
  });

  describe.each(both)('%s', (path) => {
    const post = (body: unknown, headers = {}) => client().post(path, body, headers);

    it.each([
      ['no name', { input: 1 }, ['workflowName']],
      ['no input', { workflowName: 'echo' }, ['input']],
      ['a bad name', { workflowName: 'a b', input: 1 }, ['workflowName']],
      ['a long name', { workflowName: 'a'.repeat(101), input: 1 }, ['workflowName']],
      ['a bad catalog', { workflowName: 'echo', input: 1, catalog: 'a b' }, ['catalog']],
      ['a long catalog', { workflowName: 'echo', input: 1, catalog: 'a'.repeat(201) }, ['catalog']],
      ['a bad task queue', { workflowName: 'echo', input: 1, taskQueue: '"' }, ['taskQueue']],
      ['an empty id', { workflowName: 'echo', input: 1, workflowId: '' }, ['workflowId']],
      ['a long id', { workflowName: 'echo', input: 1, workflowId: 'x'.repeat(256) }, ['workflowId']],
      ['the reserved id', { workflowName: 'echo', input: 1, workflowId: 'catalog' }, ['workflowId']],
      ['a control character', { workflowName: 'echo', input: 1, workflowId: 'a\u0085' }, ['workflowId']],
    ])('refuses %s', async (_what, body, at) => {
      const reply = await post(body);
      expect(reply.status).toBe(400);
      expect(reply.body).toEqual({
        error: 'ValidationError',
        message: 'Invalid Payload',
        issues: [{ path: at, message: expect.any(String), code: expect.any(String) }],
      });
    });

    it.each([[], 'text', null, 7])('refuses the body %j', async (body) => {
      expectError(await post(JSON.stringify(body)), 400, 'ValidationError');
    });

    it('is 503 for a catalog that nobody registered', async () => {
      const reply = await post({ workflowName: 'echo', input: 1, catalog: 'nobodys' });
      expectError(reply, 503, 'CatalogNotAvailableError');
      expect(reply.headers.get('retry-after')).toBe('3');
    });

    it('is 424 for a workflow that the catalog does not have, whatever the input', async () => {
      expectError(await post({ workflowName: 'unknown', input: 1 }), 424, 'UnsupportedWorkflowError');
    });

    it('is 400 for an input that does not fit, and starts nothing', async () => {
      const workflowId = `misfit${path.replaceAll('/', '-')}`;
      const reply = await post({ workflowName: 'greets', input: { name: '', tags: [1] }, workflowId });
      expectError(reply, 400, 'ValidationError');
      const issues = reply.body.issues as { path: unknown[]; code: string }[];
      expect(issues.map((issue) => [issue.path, issue.code])).toEqual([
        [['input', 'name'], 'minLength'],
        [['input', 'tags', 0], 'type'],
      ]);
      expect((await client().get(`/workflow/${workflowId}/status`)).status).toBe(404);
    });

    it("resolves an alias to the workflow's own name", async () => {
      const { body } = await post({ workflowName: 'hello', input: { name: 'Ada' } });
      expect((await client().get(`/workflow/${body.workflowId}/status`)).body.workflowType).toBe('greets');
    });

    it('takes taskQueue for catalog, which wins, and says that it is deprecated', async () => {
      const old = await post({ workflowName: 'echo', input: 1, taskQueue: 'default' });
      expect(old.status).toBe(200);
      expect(old.headers.get('sunset')).toBe('Thu, 16 Jul 2026 00:00:00 GMT');
      expect(old.headers.get('deprecation')).toBeTruthy();
      expect(old.headers.get('link')).toBeNull();
      const both = await post({ workflowName: 'echo', input: 1, catalog: 'default', taskQueue: 'nobodys' });
      expect(both.status).toBe(200);
      const nulls = { workflowId: null, catalog: null, taskQueue: null };
      const none = await post({ workflowName: 'echo', input: 1, ...nulls });
      expect(none.status).toBe(200);
      expect(none.headers.get('deprecation')).toBeNull();
    });

    it.each([
      ['an open run', 'collects'],
      ['a closed, retained one', 'echo'],
    ])('is 409 for an id that is taken by %s', async (_what, name) => {
      const run = name === 'echo' ? await client().ended(name) : await client().start(name);
      const reply = await post({ workflowName: 'echo', input: 1, workflowId: run.workflowId });
      expectError(reply, 409, 'WorkflowAlreadyExistsError');
      expect(reply.body.workflowId).toBe(run.workflowId);
    });

    it('answers the same run for one key and body, and 422 for another body', async () => {
      const key = { 'idempotency-key': `key of ${path}` };
      const body = { workflowName: 'echo', input: { a: 1, b: [2] } };
      const first = await post(body, key);
      const again = await post({ input: { b: [2], a: 1 }, workflowName: 'echo', catalog: null }, key);
      expect(again.body).toEqual(first.body);
      expectError(await post({ ...body, input: 2 }, key), 422, 'IdempotencyConflictError');
      expectError(await post({ ...body, workflowName: 'nothing' }, key), 422, 'IdempotencyConflictError');
      expect((await post(body, { 'idempotency-key': `${key['idempotency-key']}!` })).body).not.toEqual(
        first.body,
      );
    });

    it.each(['', 'x'.repeat(256)])('refuses the key "%s"', async (key) => {
      const reply = await post({ workflowName: 'echo', input: 1 }, { 'idempotency-key': key });
      expectError(reply, 400, 'ValidationError');
    });
  });

  describe('a thousand concurrent starts', () => {
    const body = { workflowName: 'echo', input: 'x' };

    it('with one id make one run and 999 answers 409', async () => {
      const starts = Array.from({ length: 1_000 }, () =>
        client().post('/workflow/start', { ...body, workflowId: 'only-one' }),
      );
      const replies = await Promise.all(starts);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ status }) => status === 409)).toHaveLength(999);
      expect((await client().get('/workflow/runs?workflowId=only-one')).body.count).toBe(1);
    });

    it.each(both)('with one key on %s make one run and equal answers', async (path) => {
      const key = { 'idempotency-key': `thousand ${path}` };
      const replies = await Promise.all(Array.from({ length: 1_000 }, () => client().post(path, body, key)));
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(replies[0]!.status).toBe(200);
      const { workflowId } = replies[0]!.body;
      expect((await client().get(`/workflow/runs?workflowId=${workflowId}`)).body.count).toBe(1);
    });
  });

  it('a key finds its run whatever became of it', async () => {
    const key = { 'idempotency-key': 'long lived' };
    const body = { workflowName: 'collects', input: null };
    const run = (await client().post('/workflow/start', body, key)).body;
    await client().post(`${pinned(run)}/terminate`, { reason: 'enough' });
    const again = await client().post('/workflow/run', body, key);
    expect(again.body).toMatchObject({ ...run, status: 'terminated' });
    expect((await client().get(`${latest(run)}/status`)).body.status).toBe('terminated');
  });
}
