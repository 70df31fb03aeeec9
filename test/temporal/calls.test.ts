/**
 * Which calls to the cluster each operation takes, counted and not timed.
 * The lists are what they are today. Whoever makes one longer sees it here and says why; who makes one shorter shortens it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { RECENT_CATALOG_MS } from '../../src/core/catalog.js';
import { createServer, type HttpServer } from '../../src/http/index.js';
import { Cluster, type WorkflowService } from '../../src/temporal/cluster/connection.js';
import { Deployed } from './deployed.js';
import { describeTemporal } from './required.js';

const CATALOG_IS_OLD_MS = RECENT_CATALOG_MS + 100;
/** On a machine that others use too, one start may be that long after the other. */
const PATIENCE = { timeout: 20_000, interval: 0 };

const WORKFLOW = `
import { workflow, condition, defineQuery, defineSignal, defineUpdate, setHandler } from 'perdure';
export const echo = workflow({ name: 'echo', fn: async (input) => input });
export const told = workflow({ name: 'told', fn: async (input) => {
  let isTold = false;
  setHandler(defineQuery('isTold'), () => isTold);
  setHandler(defineUpdate('ask'), () => isTold);
  setHandler(defineSignal('tell'), () => { isTold = true; });
  await condition(() => isTold);
  return input;
} });
`;

describeTemporal('calls to the cluster', () => {
  let deployed: Deployed;
  let server: HttpServer;
  beforeAll(async () => {
    deployed = await Deployed.start({ files: { 'flow/workflow.js': WORKFLOW } });
    server = createServer({ engine: deployed.engine, defaultCatalog: deployed.catalog });
    await server.listen({ host: '127.0.0.1', port: 0 });
    // The catalog is read once, and known from then on while it does not change.
    await ask('/workflow/run', { workflowName: 'echo', input: 1 });
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(async () => {
    await server?.close();
    await deployed?.stop();
  });

  async function ask(path: string, body?: unknown) {
    const request = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const response = await fetch(
      server.url + path,
      body === undefined ? {} : { ...request, body: JSON.stringify(body) },
    );
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return JSON.parse(text) as { workflowId: string; runId: string; output: unknown };
  }

  /** The calls that `operation` makes, in their order. */
  async function callsOf(operation: () => Promise<unknown>): Promise<string[]> {
    const calls: string[] = [];
    const { call } = Cluster.prototype;
    vi.spyOn(Cluster.prototype, 'call').mockImplementation(function (this: Cluster, made, options) {
      return call.call(this, (service) => made(counting(service, calls, deployed.catalog)), options);
    });
    await operation();
    vi.restoreAllMocks();
    return calls;
  }

  test('a run that is waited for: its start and its end', async () => {
    const body = { workflowName: 'echo', input: { n: 7 } };
    const run = async () => expect((await ask('/workflow/run', body)).output).toEqual({ n: 7 });
    const calls = ['startWorkflowExecution', 'getWorkflowExecutionHistory'];
    await pause(CATALOG_IS_OLD_MS);
    expect(await callsOf(run)).toEqual(['describeWorkflowExecution of the catalog', ...calls]);
    await vi.waitFor(async () => expect(await callsOf(run)).toEqual(calls), PATIENCE);
  });

  test('a start', async () => {
    const start = () => ask('/workflow/start', { workflowName: 'echo', input: 1 });
    await pause(CATALOG_IS_OLD_MS);
    expect(await callsOf(start)).toEqual([
      'describeWorkflowExecution of the catalog',
      'startWorkflowExecution',
    ]);
    await vi.waitFor(async () => expect(await callsOf(start)).toEqual(['startWorkflowExecution']), PATIENCE);
  });

  test('the result of a run that this server has started, and of one that it has not', async () => {
    const { workflowId, runId } = await ask('/workflow/start', { workflowName: 'echo', input: { n: 7 } });
    const path = `/workflow/${workflowId}/runs/${runId}/result?wait=30000`;
    const own = await ask(path);
    expect(await callsOf(() => ask(path))).toEqual(['getWorkflowExecutionHistory']);
    expect(await callsOf(() => ask(`/workflow/${workflowId}/result?wait=30000`))).toEqual([
      'describeWorkflowExecution',
      'getWorkflowExecutionHistory',
    ]);
    const other = await deployed.open();
    const theirs = () => other.outcome({ workflowId, runId }, { waitMs: 30_000 });
    expect((await callsOf(theirs)).sort()).toEqual([
      'describeWorkflowExecution',
      'getWorkflowExecutionHistory',
      'getWorkflowExecutionHistory',
    ]);
    // Whoever started it, the answer is the same.
    expect(await deployed.engine.outcome({ workflowId, runId })).toEqual(await theirs());
    expect(own).toMatchObject({ workflowId, runId, output: { n: 7 } });
  });

  test('messages, the status and the run list', async () => {
    const { workflowId } = await ask('/workflow/start', { workflowName: 'told', input: 1 });
    const of = (path: string, body?: unknown) => () => ask(`/workflow/${workflowId}/${path}`, body);
    await of('query/isTold', {})();
    // At the door a message is held against its schema, for which the type of its workflow is looked up.
    const atTheDoor = ['describeWorkflowExecution', 'describeWorkflowExecution of the catalog'];
    expect(await callsOf(of('query/isTold', {}))).toEqual([
      ...atTheDoor,
      'describeWorkflowExecution',
      'queryWorkflow',
    ]);
    expect(await callsOf(of('update/ask', {}))).toEqual([
      ...atTheDoor,
      'describeWorkflowExecution',
      'updateWorkflowExecution',
    ]);
    expect(await callsOf(of('status'))).toEqual(['describeWorkflowExecution']);
    // Runs of the last seconds that the visibility store does not know as they are yet are looked at one by one.
    const [list, ...looks] = await callsOf(() => ask('/workflow/runs?limit=10'));
    expect(list).toBe('listWorkflowExecutions');
    expect(looks).toEqual(looks.map(() => 'describeWorkflowExecution'));
    expect(await callsOf(of('signal/tell', {}))).toEqual([
      ...atTheDoor,
      'describeWorkflowExecution',
      'signalWorkflowExecution',
    ]);
  });

  test('no stack is taken down for each promise of a run, which costs more than its turns: Temporal refuses to tell them', async () => {
    const { workflowId } = await ask('/workflow/start', { workflowName: 'told', input: 1 });
    const { address } = deployed.server;
    const connection = await Connection.connect({ address });
    try {
      const run = new Client({ connection }).workflow.getHandle(workflowId);
      await expect(run.query('isTold')).resolves.toBe(false);
      await expect(run.query('__stack_trace')).rejects.toThrow(/stack traces are not enabled/);
    } finally {
      await connection.close();
    }
  });
});

function counting(service: WorkflowService, calls: string[], catalog: string): WorkflowService {
  return new Proxy(service, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== 'function') return method;
      return (request: { execution?: { workflowId?: string } }) => {
        const isOfCatalog = request.execution?.workflowId === catalog;
        calls.push(isOfCatalog ? `${String(name)} of the catalog` : String(name));
        return (method as (request: object) => Promise<unknown>).call(target, request);
      };
    },
  });
}
