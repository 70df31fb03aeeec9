/** One trace from the caller to what a step does, over real processes with the real SDK. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { caller, post, SpanFile, WORKFLOWS } from './scene.js';

// Each starts a service of several processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

const TOKEN = 'a-token-for-the-workers-of-this-test-alone';

let workplace: Workplace;
let spans: SpanFile;
beforeEach(() => {
  workplace = new Workplace();
  spans = new SpanFile(workplace);
});
afterEach(() => workplace.clear());

const workersOf = async (url: string, env: Record<string, string>, count = 2) => {
  const worker = workplace.perdure(
    ['worker', WORKFLOWS, '--server', url, '--workers', String(count), '--spare-workers', '0'],
    { API_AUTH_TOKEN: TOKEN, ...env },
  );
  await worker.says(/the workers are ready/);
  return worker;
};

const authorized = { authorization: `Bearer ${TOKEN}` };

it('is one trace: caller, call, turns, attempts and the spans of authors, over several workers and children', async () => {
  const server = await workplace.serve([], { API_AUTH_TOKEN: TOKEN, ...spans.env });
  await workersOf(server.url, spans.env);
  const { traceId, spanId, headers } = caller('a');
  const body = { workflowName: 'traced', input: 8 };
  const { runId } = await post(server.url, '/workflow/run', body, { ...authorized, ...headers });

  const [call] = await spans.until('POST /workflow/run', 1);
  expect(call).toMatchObject({ traceId, parent: spanId });
  const attempts = await spans.until('step traced#work', 9);
  expect(attempts).toHaveLength(9);
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ traceId, parent: call!.spanId, attributes: { 'perdure.run.id': runId } });
  }
  expect(attempts.map(({ attributes }) => attributes['perdure.step.outcome']).sort()).toEqual([
    ...Array(8).fill('completed'),
    'failed',
  ]);
  // By the workers, and by more than one of them.
  const pids = new Set(attempts.map(({ pid }) => pid));
  expect(pids.size).toBe(2);
  expect(pids).not.toContain(server.child.pid);

  const byId = new Map(attempts.map((attempt) => [attempt.spanId, attempt]));
  for (let number = 0; number < 8; number++) {
    const own = await spans.until(`work ${number}`, number === 0 ? 2 : 1);
    expect(own).toHaveLength(number === 0 ? 2 : 1);
    for (const span of own) {
      expect(span.traceId).toBe(traceId);
      expect(byId.get(span.parent!)?.pid).toBe(span.pid);
    }
    // Each attempt has its own.
    expect(new Set(own.map(({ parent }) => parent)).size).toBe(own.length);
  }
  const [ofChild] = await spans.until('step child#work', 1);
  expect(ofChild).toMatchObject({ traceId, parent: call!.spanId });
  expect(await spans.until('work 8', 1)).toMatchObject([{ traceId, parent: ofChild!.spanId }]);
  for (const turn of await spans.until('turn traced', 2)) {
    expect(turn).toMatchObject({ traceId, parent: call!.spanId, pid: server.child.pid });
  }
});

it('goes on in the same trace after a crash of the server, and links to whom a signal came from', async () => {
  const first = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1'], spans.env);
  const starter = caller('b');
  const { workflowId } = await post(
    first.url,
    '/workflow/start',
    { workflowName: 'patient', input: null },
    starter.headers,
  );
  await spans.until('work 1', 1);
  first.child.kill('SIGKILL');
  await first.exited;

  const second = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1'], spans.env);
  const signaller = caller('c');
  await post(second.url, `/workflow/${workflowId}/signal/go`, {}, signaller.headers);
  const [after] = await spans.until('work 2', 1);
  const attempts = await spans.until('step patient#work', 2);
  expect(after!.traceId).toBe(starter.traceId);
  expect(attempts.find(({ spanId }) => spanId === after!.parent)?.traceId).toBe(starter.traceId);
  const turns = await spans.until('turn patient', 3);
  for (const turn of turns) expect(turn.traceId).toBe(starter.traceId);
  expect(turns.filter(({ links }) => links.includes(signaller.traceId))).toHaveLength(1);

  const history = (await (
    await fetch(`${second.url}/workflow/${workflowId}/history?pageSize=1000`)
  ).json()) as {
    events: Record<string, { header?: { fields: Record<string, string> } }>[];
  };
  const headers = history.events
    .flatMap((event) => Object.values(event))
    .flatMap(({ header }) => (header ? [header.fields] : []));
  expect(headers).toMatchObject([
    { traceparent: expect.stringContaining(starter.traceId), tracestate: 'vendor=a' },
    { traceparent: expect.stringContaining(signaller.traceId) },
  ]);
});

it("passes the caller's trace on to workers that have an SDK from a server that has none", async () => {
  const server = await workplace.serve([], { API_AUTH_TOKEN: TOKEN });
  await workersOf(server.url, spans.env, 1);
  const { traceId, spanId, headers } = caller('d');
  const body = { workflowName: 'child', input: 1 };
  await post(server.url, '/workflow/run', body, { ...authorized, ...headers });
  const [attempt] = await spans.until('step child#work', 1);
  expect(attempt).toMatchObject({ traceId, parent: spanId });
  expect(await spans.until('work 1', 1)).toMatchObject([{ traceId, parent: attempt!.spanId }]);
});

it('tells of attempts itself where workers have no SDK', async () => {
  const server = await workplace.serve([], { API_AUTH_TOKEN: TOKEN, ...spans.env });
  await workersOf(server.url, {}, 1);
  // No trace of the caller: the call itself begins one.
  const body = { workflowName: 'child', input: 1 };
  await post(server.url, '/workflow/run', body, authorized);
  const [call] = await spans.until('POST /workflow/run', 1);
  const [attempt] = await spans.until('step child#work', 1);
  expect(attempt).toMatchObject({
    traceId: call!.traceId,
    pid: server.child.pid,
    attributes: { 'perdure.step.outcome': 'completed', 'perdure.step.attempt': 1 },
  });
  expect(spans.named('work 1')).toEqual([]);
});
