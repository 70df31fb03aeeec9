/** Status, result, input, the list of runs, the catalog and the rest that only reads. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, type Ref } from '../client.js';

export function reading(client: () => Client): void {
  describe.each(['latest', 'pinned'])('status, result and input of the %s run', (form) => {
    const path = (run: Ref) => (form === 'latest' ? latest(run) : pinned(run));

    it('GET status gives the record, open and closed', async () => {
      const run = await client().start('collects');
      const record = (await client().get(`${path(run)}/status`)).body;
      expect(record).toEqual({
        ...run,
        workflowType: 'collects',
        catalog: 'default',
        status: 'running',
        startedAt: expect.any(Number),
        completedAt: null,
        historyLength: expect.any(Number),
      });
      await client().post(`${latest(run)}/signal/finish`);
      await client().result(run);
      const closed = (await client().get(`${path(run)}/status`)).body;
      expect(closed).toMatchObject({ status: 'completed', startedAt: record.startedAt });
      expect(closed.completedAt).toBeGreaterThanOrEqual(record.startedAt);
      expect(closed.historyLength).toBeGreaterThan(record.historyLength);
    });

    it('GET result is 424 while the run is open, and waits if asked to', async () => {
      const run = await client().start('collects');
      for (const wait of ['', '?wait=0', '?wait=150']) {
        const reply = await client().get(`${path(run)}/result${wait}`);
        expectError(reply, 424, 'WorkflowNotCompletedError');
        expect(reply.body.workflowId).toBe(run.workflowId);
      }
      const waiting = client().get(`${path(run)}/result?wait=20000`);
      await client().post(`${latest(run)}/signal/finish`);
      expect((await waiting).body).toMatchObject({ v: '2', ...run, status: 'completed', output: [] });
    });

    it.each(['-1', '60001', '1.5', 'x', ''])('GET result refuses wait=%s', async (wait) => {
      const run = await client().ended('echo');
      expectError(await client().get(`${path(run)}/result?wait=${wait}`), 400, 'ValidationError');
    });

    it('GET input gives the input in any state', async () => {
      for (const input of [{ a: [1, 'ü'] }, null, 0]) {
        const open = await client().start('collects', input);
        expect((await client().get(`${path(open)}/input`)).body).toEqual({ ...open, input });
        await client().post(`${pinned(open)}/terminate`);
        expect((await client().get(`${path(open)}/input`)).body).toEqual({ ...open, input });
      }
    });
  });

  describe('a chain of runs', () => {
    let chain: Ref;
    let first: Ref;
    beforeAll(async () => {
      first = await client().start('countsDown', 2, { workflowId: 'chain-of-runs' });
      const { body } = await client().result(first);
      chain = { workflowId: body.workflowId, runId: body.runId };
    });

    it('GET input: unpinned of the first run, pinned of the run itself', async () => {
      expect((await client().get(`${latest(chain)}/input`)).body).toEqual({ ...first, input: 2 });
      expect((await client().get(`${pinned(chain)}/input`)).body).toEqual({ ...chain, input: 0 });
    });

    it('GET result: unpinned of the last run with the first input, pinned of the run itself', async () => {
      expect((await client().get(`${latest(chain)}/result`)).body).toMatchObject({
        ...chain,
        status: 'completed',
        input: 2,
        output: 'done',
      });
      expect((await client().get(`${pinned(first)}/result`)).body).toMatchObject({
        ...first,
        status: 'continued_as_new',
        input: 2,
        output: null,
        error: null,
      });
    });

    it('GET status: of the last run, or of the pinned one', async () => {
      expect((await client().get(`${latest(chain)}/status`)).body.runId).toBe(chain.runId);
      expect((await client().get(`${pinned(first)}/status`)).body.status).toBe('continued_as_new');
    });
  });

  describe('GET /workflow/runs', () => {
    const list = (query: string) => client().get(`/workflow/runs?${query}`);
    const ids = (body: { runs: Ref[] }) => body.runs.map(({ workflowId }) => workflowId);
    let runs: Ref[];

    beforeAll(async () => {
      runs = [];
      for (const name of ['echo', 'nothing', 'echo', 'collects', 'declined']) {
        const workflowId = `listed/${runs.length}`;
        const isOpen = name === 'collects';
        runs.push(
          await (isOpen ? client().start(name, 1, { workflowId }) : client().ended(name, 1, { workflowId })),
        );
      }
    });

    it('lists newest first, in the form of the contract', async () => {
      const { body } = await list('workflowIdPrefix=listed/');
      expect(ids(body)).toEqual(runs.map(({ workflowId }) => workflowId).reverse());
      expect(body.count).toBe(5);
      expect(body.nextCursor).toBeNull();
      expect(body.runs[0]).toEqual({
        ...runs[4],
        workflowType: 'declined',
        catalog: 'default',
        status: 'failed',
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        completedAt: expect.stringMatching(/Z$/),
      });
      expect(body.runs[1]).toMatchObject({ status: 'running', completedAt: null });
    });

    it.each([
      ['workflowType=echo', ['listed/2', 'listed/0']],
      ['status=running', ['listed/3']],
      ['status=failed', ['listed/4']],
      ['status=cancelled', []],
      ['catalog=default&workflowType=nothing', ['listed/1']],
      ['catalog=other', []],
      ['startedAfter=2099-01-01T00:00:00Z', []],
      ['startedBefore=2020-01-01', []],
      ['startedAfter=2020-01-01T00:00:00%2B02:00&status=running', ['listed/3']],
    ])('filters by %s', async (filter, expected) => {
      expect(ids((await list(`workflowIdPrefix=listed/&${filter}`)).body)).toEqual(expected);
    });

    it('filters by an exact id, and by when a run started', async () => {
      expect(ids((await list('workflowId=listed/1')).body)).toEqual(['listed/1']);
      expect(ids((await list('workflowId=listed/')).body)).toEqual([]);
      const { startedAt } = (await list('workflowId=listed/2')).body.runs[0];
      const after = await list(`workflowIdPrefix=listed/&startedAfter=${startedAt}`);
      const before = await list(`workflowIdPrefix=listed/&startedBefore=${startedAt}`);
      expect(ids(after.body)).not.toContain('listed/2');
      expect(ids(after.body)).toContain('listed/4');
      expect(ids(before.body)).not.toContain('listed/2');
    });

    it('goes on from a cursor, without gap or repetition while runs are added', async () => {
      const seen: string[] = [];
      let cursor = '';
      do {
        const { body } = await list(`workflowIdPrefix=listed/&limit=2${cursor}`);
        expect(body.count).toBe(body.runs.length);
        seen.push(...ids(body));
        cursor = body.nextCursor ? `&cursor=${encodeURIComponent(body.nextCursor)}` : '';
        await client().ended('echo', 1, { workflowId: `listed+${seen.length}` });
      } while (cursor !== '' && seen.length < 20);
      expect(seen).toEqual(runs.map(({ workflowId }) => workflowId).reverse());
    });

    it.each([
      'colour=red',
      'workflowtype=echo',
      'limit=0',
      'limit=1001',
      'limit=x',
      'status=open',
      'status=running&status=failed',
      'startedAfter=yesterday',
      'startedAfter=2020-13-01T00:00:00Z',
      'startedBefore=1',
      'workflowType=a%20b',
      'catalog=a%20b',
      'workflowId=',
      'workflowIdPrefix=',
      'cursor=nonsense',
      'cursor=',
      '__proto__=1',
    ])('refuses %s', async (query) => {
      expectError(await list(query), 400, 'ValidationError');
    });
  });

  describe('GET /workflow/catalog', () => {
    it('lists the workflows with their schemas, by default and by name', async () => {
      const { body } = await client().get('/workflow/catalog');
      expect(body.catalog).toBe('default');
      const entry = (name: string) => body.workflows.find((each: { name: string }) => each.name === name);
      expect(entry('greets')).toMatchObject({
        description: 'Greets a person',
        path: 'api/workflow.ts',
        inputSchema: { type: 'object', required: ['name'] },
        outputSchema: { type: 'string' },
        aliases: ['hello'],
        signals: [],
        queries: [],
        updates: [],
      });
      expect(entry('echo')).toMatchObject({ description: null, inputSchema: null, outputSchema: null });
      expect(entry('declares')).toMatchObject({
        signals: [
          { name: 'poke', description: 'Wakes it up', inputSchema: { type: 'object' } },
          { name: 'finish' },
        ],
        queries: [{ name: 'mood', outputSchema: { type: 'string' } }],
        updates: [{ name: 'rename', inputSchema: { type: 'string' } }],
      });
      const steps = entry('threeSteps').steps as { name: string }[];
      expect(steps.map(({ name }) => name)).toContain('first');
      expect((await client().get('/workflow/catalog/default')).body).toEqual(body);
    });

    it('is 404 for a catalog that nobody ever registered', async () => {
      expectError(await client().get('/workflow/catalog/nobodys'), 404, 'CatalogNotFoundError');
    });
  });

  describe('the service', () => {
    it('GET /health and GET /ready', async () => {
      expect((await client().get('/health')).body).toEqual({ status: 'ok' });
      expect((await client().get('/ready')).body).toEqual({ status: 'ready' });
    });

    it('POST /heartbeat is 204', async () => {
      const reply = await client().post('/heartbeat');
      expect(reply.status).toBe(204);
      expect(reply.text).toBe('');
      expect((await client().post('/heartbeat', { any: 'thing' })).status).toBe(204);
    });

    it('GET /openapi.json for one workflow', async () => {
      const { body } = await client().get('/openapi.json?workflow=echo');
      expect(body.openapi).toMatch(/^3\.1/);
      expectError(await client().get('/openapi.json?workflow=no-name'), 400, 'ValidationError');
      expectError(await client().get('/openapi.json?workflow=no_such'), 424, 'UnsupportedWorkflowError');
      const nowhere = await client().get('/openapi.json?workflow=echo&catalog=nobody');
      expectError(nowhere, 503, 'CatalogNotAvailableError');
    });

    it('GET /openapi.json', async () => {
      expect((await client().get('/openapi.json')).body.info.version).toBe('1.0.0');
    });
  });
}
