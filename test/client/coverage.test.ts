/** Every operation of the API is a method of the client, or stands here with the reason why it is not. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, createClient, type WorkflowHandle } from '../../src/client/index.js';
import { BACKUP_TYPE } from '../../src/http/routes/backup.js';
import { Conformance, type OpenApi } from '../http/conformance.js';
import { type HttpSystem, startSystem } from '../http/system.js';

const NOT_FOR_PROGRAMS: Record<string, string> = {
  getDashboard: 'a page for people',
  getDashboardFolder: 'leads to that page',
  getDashboardAsset: 'a part of that page',
  getDocs: 'a page for people',
  getDocsAsset: 'a part of that page',
  getRoot: 'a page for people',
  stopLatest: 'deprecated: the client acts on one run, by its id',
  terminateLatest: 'deprecated: the client acts on one run, by its id',
  resetLatest: 'deprecated: the client acts on one run, by its id',
};

const RUN = '01900000-0000-7000-8000-000000000001';
const REF = { workflowId: 'w', runId: RUN, status: 'completed', output: null, events: [], runs: [] };
/** With what the client looks for in each answer, to tell another program from the service. */
const ANSWER = {
  ...REF,
  ...{ input: null, source: 'local', reasons: [], totals: [], budget: null, ticket: 't' },
  ...{ workers: [], workflows: [], openapi: '3.1.0' },
};

const OF_HANDLES: ((handle: WorkflowHandle) => Promise<unknown>)[] = [
  (handle) => handle.status(),
  (handle) => handle.result(),
  (handle) => handle.outcome({ waitMs: 5 }),
  (handle) => handle.input(),
  (handle) => handle.traceLog({ inline: true }),
  (handle) => handle.stop(),
  (handle) => handle.terminate({ reason: 'r' }),
  (handle) => handle.why(),
  (handle) => handle.cost({ scope: 'tree', limit: 5, cursor: 'c' }),
  (handle) => handle.setBudget('5'),
  (handle) => handle.pause({ reason: 'r' }),
  (handle) => handle.resume(),
  (handle) => handle.reset({ stepName: 's', occurrence: 1, reason: 'r' }),
  (handle) => handle.reset({ toStart: true }),
  (handle) => handle.historyPage({ pageSize: 5, pageToken: 't', longPollTimeoutMs: 5 }),
  (handle) => handle.history({ includePayloads: true }).next(),
  (handle) => handle.history({ follow: true, includePayloads: true }).next(),
  (handle) => handle.signal('a', 1),
  (handle) => handle.query('a', 1),
  (handle) => handle.update('a', 1),
  (handle) => handle.feedback(1),
  (handle) => handle.streamTicket(),
];
const OF_CLIENTS: ((client: Client) => Promise<unknown>)[] = [
  ...OF_HANDLES.map((call) => (client: Client) => call(client.handle('w'))),
  ...OF_HANDLES.map((call) => (client: Client) => call(client.handle('w', RUN))),
  (client) => client.workflow('w').run({}, { workflowId: 'w', catalog: 'c', timeoutMs: 9_000 }),
  (client) =>
    client
      .workflow('w', { catalog: 'c' })
      .start({}, { idempotencyKey: 'k', budget: { amount: '1', currency: 'USD' } }),
  (client) =>
    client.runs({ status: 'failed', workflowType: 'w', catalog: 'c', startedBefore: new Date() }).next(),
  (client) => client.runsPage({ workflowId: 'w', limit: 5, cursor: 'c' }),
  (client) => client.runsPage({ workflowIdPrefix: 'w' }),
  (client) => client.runsPage({ heldBack: true, paused: true, why: true }),
  (client) => client.workers(),
  (client) => client.catalog(),
  (client) => client.catalog('c'),
  (client) => client.callback('token', 1),
  (client) => client.health(),
  (client) => client.ready(),
  (client) => client.heartbeat(),
  (client) => client.metrics(),
  (client) => client.backup(),
  (client) => client.openapi({ workflow: 'w', catalog: 'c' }),
];

let system: HttpSystem;
beforeAll(async () => {
  system = await startSystem({ workers: false });
});
afterAll(() => system.stop());

it('calls every operation, with nothing that it does not document', async () => {
  const document = (await createClient({ baseUrl: system.server.url }).openapi()) as unknown as OpenApi;
  const conformance = new Conformance(document);
  const called = new Set<string>();
  const unknown: string[] = [];
  const recording: typeof fetch = async (input, init) => {
    const target = String(input).slice('http://a'.length);
    const [, query = ''] = target.split('?');
    const operation = conformance.operation(init!.method!, target);
    if (!operation) {
      unknown.push(`${init!.method} ${target}`);
      return Response.json(ANSWER);
    }
    called.add(operation.operationId);
    const documented =
      operation.parameters?.filter((each) => each.in === 'query').map(({ name }) => name) ?? [];
    for (const key of new URLSearchParams(query).keys())
      if (!documented.includes(key)) unknown.push(`${operation.operationId}?${key}`);
    if (init?.body) {
      const [content] = Object.values(operation.requestBody?.content ?? {});
      const { properties = {} } = (content?.schema ?? {}) as { properties?: Record<string, unknown> };
      const keys = flattened(content?.schema).concat(Object.keys(properties));
      for (const key of Object.keys(JSON.parse(init.body as string)))
        if (!keys.includes(key)) unknown.push(`${operation.operationId} ${key}`);
    }
    const isEmpty = target === '/heartbeat' || (target.includes('/stream') && init!.method === 'GET');
    if (isEmpty) return new Response(null, { status: 204 });
    const type = target === '/backup' ? BACKUP_TYPE : 'application/json';
    return Response.json(ANSWER, { headers: { 'content-type': type } });
  };
  const client = createClient({ baseUrl: 'http://a', fetch: recording, retryForMs: 0 });
  for (const call of OF_CLIENTS) await call(client);
  const served = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const missing = served
    .map(({ operationId }) => operationId)
    .filter((id) => !called.has(id) && !(id in NOT_FOR_PROGRAMS));
  expect(missing).toEqual([]);
  expect(unknown).toEqual([]);
});

/** The properties of a body that may be absent, or be one of several. */
function flattened(schema: unknown): string[] {
  const { anyOf = [], oneOf = [] } = (schema ?? {}) as { anyOf?: unknown[]; oneOf?: unknown[] };
  return [...anyOf, ...oneOf].flatMap((each) =>
    Object.keys((each as { properties?: object }).properties ?? {}).concat(flattened(each)),
  );
}
