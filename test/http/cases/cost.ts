/** What runs have spent, and what they may. */
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, type Ref, UNKNOWN_RUN, until } from '../client.js';

interface Costs {
  totals: unknown;
  records: { amount: string }[];
  nextCursor: string | null;
}

export function cost(client: () => Client): void {
  const ended = async (amounts: string[]): Promise<Ref> => {
    const run = await client().start('spends', amounts);
    await client().result(run);
    return run;
  };
  const startWith = (budget: unknown, input: string[] = ['1', '1']) =>
    client().post('/workflow/start', { workflowName: 'spends', input, budget });

  describe.each(['latest', 'pinned'])('GET cost of the %s run', (form) => {
    const path = (run: Ref) => `${form === 'latest' ? latest(run) : pinned(run)}/cost`;

    it('answers totals, sums by steps and records', async () => {
      const run = await ended(['0.10', '0.025']);
      const { status, body } = await client().get(path(run));
      expect(status).toBe(200);
      const totals = [{ currency: 'USD', amount: '0.125' }];
      expect(body).toEqual({
        ...run,
        scope: 'run',
        totals,
        usage: { calls: 2 },
        bySteps: [{ workflowType: 'spends', stepName: 'spend', attempts: 2, totals, usage: { calls: 2 } }],
        records: ['0.1', '0.025'].map((amount, at) => ({
          ...run,
          at: expect.stringMatching(/^\d{4}-.*Z$/),
          ...{ stepName: 'spend', activityId: String(at + 1), attempt: 1 },
          ...{ kind: 'llm', label: null, currency: 'USD', amount, usage: { calls: 1 } },
        })),
        nextCursor: null,
        budget: null,
      });
    });

    it('pages through the records, each once', async () => {
      const run = await ended(['1', '2', '3', '4', '5']);
      const seen: string[] = [];
      let cursor: string | null = '';
      for (let pages = 0; cursor !== null; pages++) {
        const query = `limit=2&scope=tree${cursor && `&cursor=${cursor}`}`;
        const page = (await client().get(`${path(run)}?${query}`)).body as unknown as Costs;
        expect(page.totals).toEqual([{ currency: 'USD', amount: '15' }]);
        seen.push(...page.records.map(({ amount }) => amount));
        cursor = page.nextCursor;
        expect(pages).toBeLessThan(3);
      }
      expect(seen).toEqual(['1', '2', '3', '4', '5']);
    });

    it('has what each step has spent, however few records are asked for', async () => {
      const run = await ended(['0.10', '0.025']);
      const { body } = await client().get(`${path(run)}?activities=true&limit=1`);
      expect(body).toMatchObject({
        byActivities: [
          { activityId: '1', totals: [{ currency: 'USD', amount: '0.1' }] },
          { activityId: '2', totals: [{ currency: 'USD', amount: '0.025' }] },
        ],
        records: [{ amount: '0.1' }],
      });
    });

    it('is empty for a run that has spent nothing, and 404 for one that is not there', async () => {
      const run = await client().start('echo', 1);
      expect((await client().get(path(run))).body).toMatchObject({ totals: [], usage: {}, records: [] });
      expectError(await client().get(path({ ...run, workflowId: 'nobody' })), 404, 'WorkflowNotFoundError');
    });

    it.each([
      ...['scope=all', 'limit=0', 'limit=1001', 'limit=x', 'cursor=x', 'cursor=WyJjb3N0Il0'],
      ...['activities=1', 'activities=true&scope=tree'],
    ])('refuses %s', async (query) => {
      const run = await client().start('echo', 1);
      expectError(await client().get(`${path(run)}?${query}`), 400, 'ValidationError');
    });
  });

  describe('GET cost page by page', () => {
    it.each(['run', 'chain'])('stays with the run of the first page, scope %s', async (scope) => {
      const run = await ended(['1', '2', '3']);
      const first = (await client().get(`${latest(run)}/cost?scope=${scope}&limit=1`))
        .body as unknown as Costs;
      const reset = await client().post(`${pinned(run)}/reset`, { toStart: true });
      const next = reset.body as unknown as Ref;
      await client().result(next);
      const query = `scope=${scope}&limit=100&cursor=${first.nextCursor}`;
      const rest = (await client().get(`${latest(run)}/cost?${query}`)).body as unknown as Costs & Ref;
      expect(rest.runId).toBe(run.runId);
      const amounts = ['2', '3', ...(scope === 'chain' ? ['1', '2', '3'] : [])];
      expect(rest.records.map(({ amount }) => amount)).toEqual(amounts);
      expectError(await client().get(`${pinned(next)}/cost?${query}`), 400, 'ValidationError');
    });
  });

  describe('the stream with costs=true', () => {
    it('tells what was spent before it ends, without an id', async () => {
      const run = await ended(['1', '2']);
      const response = await fetch(`${client().url}${pinned(run)}/history/stream?costs=true`);
      const text = await response.text();
      const frames = text.split('\n\n').filter((frame) => frame.includes('event: cost'));
      expect(frames[0]).toMatch(/^event: cost\ndata: \{/);
      const data = frames.map((frame) => JSON.parse(frame.split('data: ')[1]!) as Costs);
      expect(data.at(-1)).toMatchObject({ totals: [{ currency: 'USD', amount: '3' }] });
      expect(data.flatMap(({ records }) => records.map(({ amount }) => amount))).toEqual(['1', '2']);
      expect(text.indexOf('event: cost')).toBeLessThan(text.indexOf('event: done'));
      const without = await (await fetch(`${client().url}${pinned(run)}/history/stream`)).text();
      expect(without).not.toContain('event: cost');
    });
  });

  describe('a budget', () => {
    it('pauses the run, is told everywhere, and goes on when it is raised', async () => {
      const run = (await startWith({ amount: 1, currency: 'USD' })).body as unknown as Ref;
      await until(async () => {
        const { body } = await client().get(`${pinned(run)}/status`);
        return (body as { paused?: { by: string } }).paused?.by === 'budget';
      });
      const budget = { amount: '1', currency: 'USD', spent: '1', isExceeded: true, overshoot: '0' };
      expect((await client().get(`${pinned(run)}/cost`)).body).toMatchObject({ budget });
      const why = (await client().get(`${latest(run)}/why`)).body;
      expect(why).toMatchObject({ isStuck: true });
      expect((why as { reasons: object[] }).reasons[0]).toMatchObject({ code: 'paused', by: 'budget' });
      const raised = await client().patch(`${pinned(run)}/budget`, { amount: '1.5' });
      expect(raised.status).toBe(200);
      expect(raised.body).toEqual({
        ...run,
        budget: { amount: '1.5', currency: 'USD', spent: '1', isExceeded: false, overshoot: '0' },
      });
      expect((await client().result(run)).body).toMatchObject({ status: 'completed', output: 2 });
      expectError(
        await client().patch(`${pinned(run)}/budget`, { amount: '9' }),
        409,
        'WorkflowAlreadyClosedError',
      );
      const unknown = `/workflow/nobody-knows-it/runs/${UNKNOWN_RUN}/budget`;
      expectError(await client().patch(unknown, { amount: '9' }), 404, 'WorkflowNotFoundError');
    });

    it.each([
      [{ amount: -1, currency: 'USD' }, ['budget', 'amount']],
      [{ amount: '0.0000000001', currency: 'USD' }, ['budget', 'amount']],
      [{ amount: 'much', currency: 'USD' }, ['budget', 'amount']],
      [{ amount: 1 }, ['budget', 'currency']],
      [{ currency: 'USD' }, ['budget', 'amount']],
      [{ amount: 1, currency: 'usd' }, ['budget', 'currency']],
      [{ amount: 1, currency: 'UDS' }, ['budget', 'currency']],
      [{ amount: 1, currency: 'USD', ammount: 2 }, ['budget', 'ammount']],
      [5, ['budget']],
    ])('of %j is refused, and nothing is started', async (budget, path) => {
      const { status, body } = await startWith(budget);
      expect(status).toBe(400);
      const { issues } = body as { issues: { path: string[] }[] };
      expect(issues.map((issue) => issue.path)).toContainEqual(path);
    });

    it.each([{ amount: -1 }, { amount: 'x' }, {}, { amount: 1, currency: 'EUR' }, undefined])(
      'is not changed to %j',
      async (body) => {
        const run = (await startWith({ amount: 0, currency: 'USD' })).body as unknown as Ref;
        const answer = await client().patch(`${pinned(run)}/budget`, body);
        expectError(answer, 400, 'ValidationError');
        // Whoever reads it knows what is wanted.
        const { issues } = answer.body as unknown as { issues: { message: string }[] };
        expect(issues[0]!.message).toMatch(/decimal|negative|there is amount|object/);
        await client().post(`${pinned(run)}/terminate`);
      },
    );

    it('cannot be given to a run that has none', async () => {
      const run = await client().start('collects');
      const { status, body } = await client().patch(`${pinned(run)}/budget`, { amount: '9' });
      expect(status).toBe(400);
      expect(body).toMatchObject({ issues: [{ path: ['amount'], code: 'no_budget' }] });
      await client().post(`${pinned(run)}/terminate`);
    });

    it('is part of what an Idempotency-Key stands for', async () => {
      const headers = { 'idempotency-key': `cost-${Date.now()}-${Math.random()}` };
      const body = (amount: number | string) => ({
        ...{ workflowName: 'spends', input: [], budget: { amount, currency: 'USD' } },
      });
      const one = await client().post('/workflow/start', body(5), headers);
      expect((await client().post('/workflow/start', body('5.0'), headers)).body).toEqual(one.body);
      expectError(await client().post('/workflow/start', body(6), headers), 422, 'IdempotencyConflictError');
    });
  });
}
