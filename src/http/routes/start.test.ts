import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../../core/errors.js';
import { isRunId } from '../../core/values/names.js';
import { catalogOf } from '../scripted-engine.fixture.js';
import { call, engine, post, serve, server } from '../served.fixture.js';

afterEach(() => server.close());

describe('start', () => {
  beforeEach(() => serve());

  it('starts with any JSON value as input, null included', async () => {
    for (const input of [null, 0, false, '', [], { a: [1, { b: 'ü' }] }]) {
      const response = await post('/workflow/start', { workflowName: 'echo', input });
      expect(response.status).toBe(200);
      const body = (await response.json()) as { workflowId: string; runId: string };
      expect(Object.keys(body)).toEqual(['workflowId', 'runId']);
      expect(body.workflowId).toMatch(/^echo-[a-z0-9]{12}$/);
      expect(isRunId(body.runId)).toBe(true);
      expect(JSON.parse(engine.starts.at(-1)!.input[0]!)).toEqual(input);
    }
  });

  it.each([
    ['no workflowName', { input: 1 }, ['workflowName']],
    ['no input', { workflowName: 'echo' }, ['input']],
    ['a bad name', { workflowName: 'a b', input: 1 }, ['workflowName']],
    ['a long name', { workflowName: 'a'.repeat(101), input: 1 }, ['workflowName']],
    ['a bad catalog', { workflowName: 'echo', input: 1, catalog: 'x" OR 1=1' }, ['catalog']],
    ['a bad task queue', { workflowName: 'echo', input: 1, taskQueue: '' }, ['taskQueue']],
    ['an empty id', { workflowName: 'echo', input: 1, workflowId: '' }, ['workflowId']],
    ['the reserved id', { workflowName: 'echo', input: 1, workflowId: 'catalog' }, ['workflowId']],
    ['a control character', { workflowName: 'echo', input: 1, workflowId: 'a\nb' }, ['workflowId']],
    ['half a character', { workflowName: 'echo', input: 1, workflowId: 'a\ud800' }, ['workflowId']],
    ['a number as id', { workflowName: 'echo', input: 1, workflowId: 7 }, ['workflowId']],
  ])('refuses %s', async (_what, body, path) => {
    const response = await post('/workflow/start', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'ValidationError',
      message: 'Invalid Payload',
      issues: [{ path }],
    });
    expect(engine.starts).toEqual([]);
  });

  it.each([
    ['an engine that is away', new PerdureError('EngineUnavailableError', 'the cluster is away'), 503],
    [
      'too many who wait',
      new PerdureError('TooManyRequestsError', 'too many wait', { retryAfterSeconds: 2 }),
      429,
    ],
    ['a bug', new TypeError('nobody shall read this'), 500],
  ])('says which run was started when waiting for it fails: %s', async (_what, thrown, status) => {
    engine.outcome = () => Promise.reject(thrown);
    const response = await post('/workflow/run', { workflowName: 'echo', input: 1, workflowId: 'the-one' });
    expect(response.status).toBe(status);
    const body = (await response.json()) as { workflowId: string; runId: string; message: string };
    expect(body).toMatchObject({ workflowId: 'the-one', runId: expect.any(String) });
    expect(isRunId(body.runId)).toBe(true);
    expect(body.message).not.toContain('nobody shall read this');
    expect(body.message).toContain('was started');
  });

  it.each([0, -1, 1.5, 3_600_001, '1000', true])(
    'refuses the timeout %s on run, and any on start',
    async (timeout) => {
      const body = { workflowName: 'echo', input: 1, timeout };
      expect((await post('/workflow/run', body)).status).toBe(400);
      expect((await post('/workflow/start', body)).status).toBe(400);
      expect(engine.starts).toEqual([]);
    },
  );

  it('takes null for what is optional as absent, and a mistyped field for an error', async () => {
    const nulls = { workflowId: null, catalog: null, taskQueue: null, timeout: null };
    const mistyped = await post('/workflow/run', { workflowName: 'echo', input: 1, workflowID: 'mine' });
    expect(mistyped.status).toBe(400);
    expect(await mistyped.json()).toMatchObject({
      issues: [{ path: ['workflowID'], message: 'unknown field "workflowID": did you mean "workflowId"?' }],
    });
    expect(engine.starts).toEqual([]);
    const response = await post('/workflow/run?colour=red', { workflowName: 'echo', input: 1, ...nulls });
    expect(response.status).toBe(200);
    expect(response.headers.get('deprecation')).toBeNull();
  });

  it('is told to come back while no worker has registered the catalog', async () => {
    const response = await post('/workflow/start', { workflowName: 'echo', input: 1, catalog: 'other' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await response.json()).toMatchObject({ error: 'CatalogNotAvailableError' });
  });

  it('is told when the catalog does not have the workflow', async () => {
    const response = await post('/workflow/run', { workflowName: 'nope', input: 1 });
    expect(response.status).toBe(424);
    expect(await response.json()).toMatchObject({ error: 'UnsupportedWorkflowError' });
  });

  it('checks the input against the schema of the catalog', async () => {
    const response = await post('/workflow/start', {
      workflowName: 'greeting',
      input: { name: '', tags: ['a', 2] },
    });
    expect(response.status).toBe(400);
    const { issues } = (await response.json()) as { issues: { path: unknown[]; code: string }[] };
    expect(issues.map(({ path, code }) => [path, code])).toEqual([
      [['input', 'name'], 'minLength'],
      [['input', 'tags', 1], 'type'],
    ]);
    const missing = await post('/workflow/start', { workflowName: 'greeting', input: {} });
    expect(await missing.json()).toMatchObject({ issues: [{ path: ['input', 'name'], code: 'required' }] });
    expect(engine.starts).toEqual([]);
    expect((await post('/workflow/start', { workflowName: 'greeting', input: { name: 'Ada' } })).status).toBe(
      200,
    );
  });

  it('takes null for no input where the workflow takes none', async () => {
    const [workflow] = engine.catalogs.get('default')!.workflows;
    const taking = (orNothing: object) =>
      engine.catalogs.set('default', {
        catalog: 'default',
        workflows: [{ ...workflow!, accepts: { input: { schema: { type: 'string' }, ...orNothing } } }],
      });
    const start = () => post('/workflow/start', { workflowName: workflow!.entry.name, input: null });
    taking({});
    expect((await start()).status).toBe(400);
    taking({ orNothing: true });
    expect((await start()).status).toBe(200);
  });

  it('reads a changed catalog anew', async () => {
    await post('/workflow/start', { workflowName: 'greeting', input: { name: 'Ada' } });
    const { entry } = engine.catalogs.get('default')!.workflows[0]!;
    engine.catalogs.set('default', {
      catalog: 'default',
      workflows: [
        {
          entry: { ...entry, inputSchema: { type: 'string' } },
          settings: {},
          declaresSignals: false,
          accepts: { input: {} },
        },
      ],
    });
    expect((await post('/workflow/start', { workflowName: 'echo', input: 1 })).status).toBe(400);
    expect((await post('/workflow/start', { workflowName: 'greeting', input: {} })).status).toBe(424);
  });

  it('starts although a schema cannot be compiled, and fetches no reference', async () => {
    const { entry } = engine.catalogs.get('default')!.workflows[0]!;
    const inputSchema = { $ref: 'http://127.0.0.1:9/schema.json' };
    engine.catalogs.set('default', {
      catalog: 'default',
      workflows: [
        { entry: { ...entry, inputSchema }, settings: {}, declaresSignals: false, accepts: { input: {} } },
      ],
    });
    expect((await post('/workflow/start', { workflowName: 'echo', input: 1 })).status).toBe(200);
  });

  it('hands on the trace that its caller is in', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await post('/workflow/start', { workflowName: 'echo', input: 1 }, { traceparent });
    await post('/workflow/start', { workflowName: 'echo', input: 1 });
    expect(engine.starts[0]?.traceContext).toMatchObject({ traceparent });
    expect(engine.starts[1]?.traceContext).toBeUndefined();
  });

  it("starts an alias under the workflow's own name", async () => {
    await post('/workflow/start', { workflowName: 'repeat_after_me', input: 1 });
    expect(engine.starts).toMatchObject([{ workflowType: 'echo', catalog: 'default' }]);
  });

  it.each(['', '#'])('checks the input also where the schema names its dialect, with "%s"', async (end) => {
    const $schema = `https://json-schema.org/draft/2020-12/schema${end}`;
    const entry = { name: 'echo', inputSchema: { $schema, type: 'number' } };
    engine.catalogs.set('default', catalogOf('default', [entry]));
    expect((await post('/workflow/start', { workflowName: 'echo', input: 'text' })).status).toBe(400);
    expect((await post('/workflow/start', { workflowName: 'echo', input: 1 })).status).toBe(200);
  });

  it("takes a workflow's own name before an alias of another one", async () => {
    const entries = [{ name: 'wait' }, { name: 'echo', aliases: ['wait'] }];
    engine.catalogs.set('default', catalogOf('default', entries));
    await post('/workflow/start', { workflowName: 'wait', input: 1 });
    expect(engine.starts).toMatchObject([{ workflowType: 'wait' }]);
  });

  it('takes taskQueue as the deprecated name of catalog, which wins', async () => {
    engine.catalogs.set('blue', { ...engine.catalogs.get('default')!, catalog: 'blue' });
    const old = await post('/workflow/start', { workflowName: 'echo', input: 1, taskQueue: 'blue' });
    expect(old.headers.get('sunset')).toBe('Thu, 16 Jul 2026 00:00:00 GMT');
    expect(old.headers.get('deprecation')).toBeTruthy();
    expect(old.headers.get('link')).toBeNull();
    await post('/workflow/start', { workflowName: 'echo', input: 1, taskQueue: 'default', catalog: 'blue' });
    expect(engine.starts.map(({ catalog }) => catalog)).toEqual(['blue', 'blue']);
  });

  it('refuses an id that is taken', async () => {
    const body = { workflowName: 'echo', input: 1, workflowId: 'a/b ü' };
    expect((await post('/workflow/start', body)).status).toBe(200);
    const again = await post('/workflow/start', body);
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ error: 'WorkflowAlreadyExistsError', workflowId: 'a/b ü' });
    expect((await call(`/workflow/${encodeURIComponent('a/b ü')}/status`)).status).toBe(200);
  });

  it('answers the same run for the same idempotency key and body', async () => {
    const key = { 'idempotency-key': 'order 7' };
    const first = await post('/workflow/start', { workflowName: 'echo', input: { a: 1, b: 2 } }, key);
    const { runId } = (await first.json()) as { runId: string };
    const body = { input: { b: 2, a: 1 }, workflowName: 'echo', timeout: 5 };
    expect(await (await post('/workflow/run', body, key)).json()).toMatchObject({
      runId,
      status: 'completed',
    });
    for (const other of [{ input: { a: 1, b: 3 } }, { workflowId: 'mine' }, { workflowName: 'wait' }]) {
      const conflict = await post('/workflow/run', { ...body, ...other }, key);
      expect(conflict.status).toBe(422);
      expect(await conflict.json()).toMatchObject({ error: 'IdempotencyConflictError' });
    }
    expect((await post('/workflow/start', body, { 'idempotency-key': '' })).status).toBe(400);
    expect((await post('/workflow/start', body, { 'idempotency-key': 'x'.repeat(256) })).status).toBe(400);
    expect(engine.starts).toHaveLength(1);
  });

  it.each<[what: string, difference: object, before?: object]>([
    ['the workflow', { workflowName: 'wait' }],
    ['the input', { input: 2 }],
    ['the id', { workflowId: 'mine' }],
    ['the catalog', { catalog: 'other' }],
    ['the catalog under its old name', { taskQueue: 'other' }],
    ['the budget', { budget: { amount: 5, currency: 'USD' } }],
    [
      'the amount of the budget',
      { budget: { amount: 6, currency: 'USD' } },
      { budget: { amount: 5, currency: 'USD' } },
    ],
    [
      'the currency of the budget',
      { budget: { amount: 5, currency: 'EUR' } },
      { budget: { amount: 5, currency: 'USD' } },
    ],
    ['the catalog, also where both are named', { catalog: 'another' }, { catalog: 'other' }],
  ])('takes a body that differs in %s for another one', async (_what, difference, before = {}) => {
    for (const name of ['other', 'another']) {
      engine.catalogs.set(name, catalogOf(name, [{ name: 'echo' }, { name: 'wait' }]));
    }
    const key = { 'idempotency-key': 'k' };
    const body = { workflowName: 'echo', input: 1, ...before };
    expect((await post('/workflow/start', body, key)).status).toBe(200);
    expect((await post('/workflow/start', body, key)).status).toBe(200);
    expect((await post('/workflow/start', { ...body, ...difference }, key)).status).toBe(422);
    expect(engine.starts).toHaveLength(1);
  });

  it('says that the engine is away, and when to come back', async () => {
    engine.unavailable = new PerdureError('EngineUnavailableError', 'the engine is closing');
    const response = await post('/workflow/start', { workflowName: 'echo', input: 1 });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
