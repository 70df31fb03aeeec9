/** Workers of other makers, who keep the conventions of the contract and know nothing of this project. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serializeError } from '../../../src/core/history/serialized-error.js';
import { createServer } from '../../../src/http/index.js';
import { TemporalEngine } from '../../../src/temporal/engine.js';
import { Traces } from '../../../src/trace/index.js';
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
  });
  afterAll(async () => {
    await worker?.stop();
    await engine?.close();
    await server?.stop();
  });

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
      'pay',
      'paySeveral',
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

  test('its errors come back in full, and nothing of them twice', async () => {
    const declined = {
      name: 'CardDeclined',
      message: 'no funds',
      code: 51,
      cause: { name: 'TypeError', message: 'socket closed' },
    };
    const errorOf = async (workflowType: string, input?: unknown) => {
      const failed = await outcome(workflowType, input);
      return failed?.failure && serializeError(failed.failure);
    };
    expect(await errorOf('pay', { how: 'self' })).toEqual(declined);
    const inStep = { ...declined, activityType: 'pay#charge' };
    expect(await errorOf('pay', { how: 'step' })).toEqual(inStep);
    expect(await errorOf('paySeveral')).toEqual(inStep);
  });

  test('over HTTP: inputs are its own affair, and its trace is the one that its memo names', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'perdure-foreign-'));
    const traces = await Traces.open({ engine, mode: 'off', dataDir });
    const http = createServer({ engine, traces, defaultCatalog: CATALOG });
    try {
      await http.listen({ host: '127.0.0.1', port: 0 });
      const post = async (body: unknown) => {
        const headers = { 'content-type': 'application/json' };
        const init = { method: 'POST', headers, body: JSON.stringify(body) };
        const response = await fetch(`${http.url}/workflow/run`, init);
        return { status: response.status, body: (await response.json()) as Record<string, unknown> };
      };
      // Its schema has a default for what is missing, and strips what is too much.
      const { status, body } = await post({ workflowName: 'pay', input: { how: 'self', more: 1 } });
      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'failed', error: { name: 'CardDeclined', code: 51 } });
      const log = await fetch(`${http.url}/workflow/${String(body.workflowId)}/trace-log`);
      expect(await log.json()).toEqual({
        source: 'local',
        runId: body.runId,
        localPath: '/logs/runs/pay/2026-01-01_pay.json',
      });
    } finally {
      await http.close();
      await traces.close();
      await rm(dataDir, { recursive: true, force: true });
    }
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
