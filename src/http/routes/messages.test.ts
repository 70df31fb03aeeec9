import { afterEach, beforeEach, expect, it } from 'vitest';
import { PerdureError } from '../../core/errors.js';
import { CALLBACK_SIGNAL, FEEDBACK_SIGNAL } from '../../core/run/callback.js';
import { catalogOf } from '../scripted-engine.fixture.js';
import { call, engine, post, serve, server, until } from '../served.fixture.js';

beforeEach(() => serve());
afterEach(() => server.close());

it('takes a payload that suits any of the code which is connected, and refuses by the newest', async () => {
  const wanting = (field: string) => {
    const inputSchema = { type: 'object', required: [field] };
    return catalogOf('default', [{ name: 'wait', signals: [{ name: 'approve', inputSchema }] }]).workflows;
  };
  engine.catalogs.set('default', { catalog: 'default', workflows: wanting('by'), older: wanting('name') });
  await post('/workflow/start', { workflowName: 'wait', input: null, workflowId: 'w' });
  const approve = (payload: object) => post('/workflow/w/signal/approve', { payload });
  for (const payload of [{ by: 'ada' }, { name: 'ada' }]) expect((await approve(payload)).status).toBe(200);
  const refused = await approve({});
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ issues: [{ message: expect.stringContaining('by') }] });
  expect(engine.signals).toHaveLength(2);
});

it.each(['stop', 'pause', 'resume', 'update'])(
  'lets no %s overtake a signal that came before it',
  async (action) => {
    const start = await post('/workflow/start', { workflowName: 'wait', input: null, workflowId: 'w' });
    const { runId } = (await start.json()) as { runId: string };
    const handed: string[] = [];
    const run = { workflowId: 'w', runId };
    const hand = (what: string) => async () => {
      handed.push(what);
      return run;
    };
    Object.assign(engine, {
      signal: hand('signal'),
      cancel: hand('stop'),
      pause: hand('pause'),
      resume: hand('resume'),
      update: async () => {
        handed.push('update');
      },
    });
    let lookUp!: () => void;
    let isLookedUp = false;
    const { catalog } = engine;
    // What the signal has to be checked against takes a while to come.
    engine.catalog = async (name) => {
      if (!isLookedUp) {
        isLookedUp = true;
        await new Promise<void>((resolve) => {
          lookUp = resolve;
        });
      }
      return catalog.call(engine, name);
    };
    const signalled = post('/workflow/w/signal/approve', { payload: 1 });
    await until(() => isLookedUp);
    const acted =
      action === 'update'
        ? post('/workflow/w/update/change', { payload: 1 })
        : call(`/workflow/w/runs/${runId}/${action}`, { method: action === 'stop' ? 'PATCH' : 'POST' });
    // Other calls that have been through show that this one has arrived.
    for (let calls = 0; calls < 5; calls++) expect((await call('/workflow/w/status')).status).toBe(200);
    lookUp();
    expect([(await signalled).status, (await acted).status]).toEqual([200, 200]);
    expect(handed).toEqual(['signal', action]);
  },
);

it('refuses what does not fit a closed run only where that would answer: a query', async () => {
  const inputSchema = { type: 'number' };
  const handlers = [{ name: 'n', inputSchema }];
  const entry = { name: 'echo', signals: handlers, queries: handlers, updates: handlers };
  engine.catalogs.set('default', catalogOf('default', [entry]));
  await post('/workflow/start', { workflowName: 'echo', input: 1, workflowId: 'closed' });
  const closed = new PerdureError('WorkflowAlreadyClosedError', 'the run is closed');
  engine.signal = () => Promise.reject(closed);
  engine.update = () => Promise.reject(closed);
  engine.query = async () => undefined;
  const statusOf = async (kind: string, payload: unknown) =>
    (await post(`/workflow/closed/${kind}/n`, { payload })).status;
  expect(await statusOf('signal', 'no number')).toBe(409);
  expect(await statusOf('update', 'no number')).toBe(409);
  expect(await statusOf('query', 'no number')).toBe(400);
  expect(await statusOf('query', 1)).toBe(200);
});

it('hands feedback to the callback that it names, or to whoever has waited longest', async () => {
  await post('/workflow/start', { workflowName: 'wait', input: null, workflowId: 'w' });
  for (const body of [{ payload: 1, callbackId: 'c' }, { payload: 2 }])
    expect((await post('/workflow/w/feedback', body)).status).toBe(200);
  expect(engine.signals).toMatchObject([
    { name: CALLBACK_SIGNAL, input: ['"c"', '1'] },
    { name: FEEDBACK_SIGNAL, input: ['2'] },
  ]);
});

it.each(['update', 'query'])('tells who waits for an %s that the server ends', async (kind) => {
  await post('/workflow/start', { workflowName: 'wait', input: null, workflowId: 'w' });
  let isAsked = false;
  engine.update = engine.query = () => {
    isAsked = true;
    return new Promise(() => {});
  };
  const waiting = post(`/workflow/w/${kind}/n`, {});
  await until(() => isAsked);
  await server.close();
  const answer = await waiting;
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: 'EngineUnavailableError' });
});
