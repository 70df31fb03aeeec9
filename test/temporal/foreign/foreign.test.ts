/** Workers of other makers, who keep the conventions of the contract and know nothing of this project. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TemporalEngine } from '../../../src/temporal/engine.js';
import { findTemporal } from '../binary.js';
import { DevServer } from '../dev-server.js';
import { ForeignWorker, registerForeign } from './worker.js';

const CATALOG = 'elsewhere';

describe.skipIf(findTemporal() === undefined)('a worker of another maker [Temporal]', () => {
  let server: DevServer;
  let worker: ForeignWorker | undefined;
  let engine: TemporalEngine;

  beforeAll(async () => {
    server = await DevServer.start();
    engine = await TemporalEngine.open({ settings: server, limits: { messageTimeoutMs: 5_000 } });
    await registerForeign(server.address, CATALOG);
    worker = await ForeignWorker.start(server.address, CATALOG);
  }, 120_000);
  afterAll(async () => {
    await worker?.stop();
    await engine?.close();
    await server?.stop();
  }, 30_000);

  const start = (workflowType: string, input?: unknown) =>
    engine.start({
      workflowType,
      catalog: CATALOG,
      input: input === undefined ? [] : [JSON.stringify(input)],
    });
  const outcome = async (workflowType: string, input?: unknown) =>
    engine.outcome(await start(workflowType, input), { waitMs: 20_000 });

  test('its catalog is what its registration answers, with the gaps filled', async () => {
    const catalog = await engine.catalog(CATALOG);
    expect(catalog?.workflows.map(({ entry }) => entry.name)).toEqual([
      'greet',
      'greetOfOld',
      'failOfOld',
      'failInStep',
      'counter',
    ]);
    expect(catalog?.workflows[0]).toEqual({
      settings: {},
      declaresSignals: false,
      entry: {
        name: 'greet',
        description: 'Says hello',
        path: '',
        aliases: ['salute'],
        inputSchema: expect.objectContaining({ type: 'object' }),
        outputSchema: null,
        steps: [{ name: 'hello', description: null, inputSchema: null, outputSchema: null }],
        signals: [],
        queries: [],
        updates: [],
      },
    });
  });

  test('results of the current form', async () => {
    expect(await outcome('greet', { name: 'Ada' })).toMatchObject({
      status: 'completed',
      format: 'current',
      input: '{"name":"Ada"}',
      output: '"hello Ada"',
      trace: { remote: 's3://traces/greet.json' },
    });
  });

  test('results of the older form', async () => {
    expect(await outcome('greetOfOld', { name: 'Ada' })).toMatchObject({
      status: 'completed',
      format: 'legacy',
      output: '"hello Ada"',
      trace: { local: '/traces/greet.json' },
    });
    expect(await outcome('failOfOld')).toMatchObject({
      status: 'failed',
      format: 'legacy',
      output: undefined,
      failure: { kind: 'application', type: 'CardDeclined', message: 'no funds', nonRetryable: true },
      trace: { remote: 's3://traces/fail.json' },
    });
  });

  test('a failed step is told by its own error, with its name', async () => {
    const failed = await outcome('failInStep');
    expect(failed?.failure).toMatchObject({
      kind: 'step',
      type: 'CardDeclined',
      message: 'no funds',
      activityType: 'decline',
    });
  });

  test('messages come through, and their errors are told apart', async () => {
    const run = await start('counter');
    const { workflowId } = run;
    expect(await engine.update(run, 'add', ['2'])).toBe('2');
    expect(await engine.query({ workflowId }, 'count', [])).toBe('2');
    await expect(engine.query({ workflowId }, 'broken', [])).rejects.toMatchObject({
      name: 'QueryFailedError',
      message: 'no answer to that',
    });
    await expect(engine.query({ workflowId }, 'nothing', [])).rejects.toMatchObject({
      name: 'HandlerNotFoundError',
    });
    await expect(engine.update({ workflowId }, 'add', ['-1'])).rejects.toMatchObject({
      name: 'UpdateRejectedError',
      message: 'only upwards',
    });
    await expect(engine.update({ workflowId }, 'add', ['13'])).rejects.toMatchObject({
      name: 'UpdateFailedError',
      message: 'thirteen brings bad luck',
    });
    await expect(engine.update({ workflowId }, 'nothing', [])).rejects.toMatchObject({
      name: 'HandlerNotFoundError',
    });
    await engine.signal({ workflowId }, 'resume', []);
    expect(await engine.outcome(run, { waitMs: 20_000 })).toMatchObject({ output: '2' });
  });

  test('events that only Temporal writes are in the history, which has no gaps', async () => {
    const run = await start('greet', { name: 'Ada' });
    await engine.outcome(run, { waitMs: 20_000 });
    const { events, ended } = await engine.history(run, { afterEventId: 0, limit: 100 });
    expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index + 1));
    expect(events.find((event) => event.type === 'WORKFLOW_PROPERTIES_MODIFIED')).toMatchObject({
      attributes: {
        asRecorded: {
          upsertedMemo: {
            fields: { payloadVersion: '2', trace: { remote: 's3://traces/greet.json' } },
          },
        },
      },
    });
    expect(ended).toBe(true);
  });

  test('its registration is no workflow to callers', async () => {
    await expect(engine.describe({ workflowId: CATALOG })).rejects.toMatchObject({
      name: 'WorkflowNotFoundError',
    });
    await expect(engine.terminate({ workflowId: CATALOG }, 'x')).rejects.toMatchObject({
      name: 'WorkflowNotFoundError',
    });
    const { runs } = await engine.list({}, { limit: 100 });
    expect(runs.length).toBeGreaterThan(0);
    expect(runs.map((run) => run.workflowId)).not.toContain(CATALOG);
  });

  test('without its workers the catalog stays, and a server that never heard them knows the names', async () => {
    const known = await engine.catalog(CATALOG);
    await worker?.stop();
    worker = undefined;
    expect(await engine.catalog(CATALOG)).toEqual(known);
    const another = await TemporalEngine.open({ settings: server });
    const names = await another.catalog(CATALOG);
    await another.close();
    expect(names?.workflows.map(({ entry }) => [entry.name, entry.aliases])).toContainEqual([
      'greet',
      ['salute'],
    ]);
    const run = await start('greet', { name: 'later' });
    worker = await ForeignWorker.start(server.address, CATALOG);
    expect(await engine.outcome(run, { waitMs: 20_000 })).toMatchObject({ output: '"hello later"' });
  });
});
