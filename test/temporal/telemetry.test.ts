/** Traces and failures on a Temporal cluster, where the workers are the ones who know. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { caller, post, SpanFile, WORKFLOWS } from '../telemetry/scene.js';
import { DevServer } from './dev-server.js';
import { describeTemporal } from './required.js';

describeTemporal('telemetry', () => {
  let cluster: DevServer;
  let workplace: Workplace;
  let spans: SpanFile;
  beforeAll(async () => {
    cluster = await DevServer.start();
  });
  afterAll(() => cluster?.stop());
  beforeEach(() => {
    workplace = new Workplace();
    spans = new SpanFile(workplace);
  });
  afterEach(() => workplace.clear());

  const environment = () => ({ PERDURE_ENGINE: 'temporal', TEMPORAL_ADDRESS: cluster.address, ...spans.env });
  const workers = ['--workflows', WORKFLOWS, '--workers', '2'];

  it('is one trace from the caller to what a step does, over workers, attempts and children', async () => {
    const server = await workplace.serve(workers, environment());
    const { traceId, spanId, headers } = caller('e');
    const { runId } = await post(server.url, '/workflow/run', { workflowName: 'traced', input: 4 }, headers);
    const [call] = await spans.until('POST /workflow/run', 1);
    expect(call).toMatchObject({ traceId, parent: spanId });
    const attempts = await spans.until('step traced#work', 5);
    expect(attempts).toHaveLength(5);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({
        traceId,
        parent: call!.spanId,
        attributes: { 'perdure.run.id': runId },
      });
    }
    const byId = new Map(attempts.map((attempt) => [attempt.spanId, attempt]));
    const failing = await spans.until('work 0', 2);
    expect(
      new Set(failing.map(({ parent }) => byId.get(parent!)?.attributes['perdure.step.attempt'])),
    ).toEqual(new Set([1, 2]));
    const [ofChild] = await spans.until('step child#work', 1);
    expect(ofChild).toMatchObject({ traceId, parent: call!.spanId });
    expect(await spans.until('work 4', 1)).toMatchObject([{ traceId, parent: ofChild!.spanId }]);

    const { workflowId } = await post(
      server.url,
      '/workflow/start',
      { workflowName: 'patient', input: null },
      headers,
    );
    const signaller = caller('f');
    await post(server.url, `/workflow/${workflowId}/signal/go`, {}, signaller.headers);
    const [after] = await spans.until('work 2', 2);
    expect(after!.traceId).toBe(traceId);
    const history = (await (
      await fetch(`${server.url}/workflow/${workflowId}/history?pageSize=1000`)
    ).json()) as { events: Record<string, { header?: { fields: Record<string, string> } }>[] };
    const kept = history.events
      .flatMap((event) => Object.values(event))
      .flatMap(({ header }) => (header ? [header.fields] : []));
    expect(kept).toMatchObject([
      { traceparent: expect.stringContaining(traceId), tracestate: 'vendor=a' },
      { traceparent: expect.stringContaining(signaller.traceId) },
    ]);
  });

  it('tells of failed attempts and failed runs', async () => {
    const server = await workplace.serve(workers, environment());
    const { workflowId, runId } = await post(server.url, '/workflow/run', {
      workflowName: 'declined',
      input: 'INPUT_CANARY',
    });
    await server.says(/"a run failed"/);
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.includes('CardDeclined'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const error = { name: 'CardDeclined', message: 'no money' };
    const run = { workflowId, runId, workflowType: 'declined', step: 'charge', error };
    expect(lines).toMatchObject([
      { ...run, msg: 'an attempt of a step failed', attempt: 1, maximumAttempts: 2 },
      { ...run, msg: 'an attempt of a step failed', attempt: 2, nextAttemptAt: null },
      { ...run, msg: 'a run failed', status: 'failed' },
    ]);
    expect(Date.parse(lines[0]!.nextAttemptAt as string)).toBeGreaterThan(0);
    expect(server.output()).not.toMatch(/INPUT_CANARY|CARD_CANARY/);
  });
});
