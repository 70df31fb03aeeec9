import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Connection, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { takeOneIn } from '../../../test/share.js';
import { DevServer } from '../../../test/temporal/dev-server.js';
import { describeTemporal } from '../../../test/temporal/required.js';
import { canMakeCertificates, makeCertificates, TlsFront } from '../../../test/temporal/tls-front.js';
import type { Log } from '../../core/log.js';
import type { WorkerSupervisor } from '../../worker/supervision/supervisor.js';
import { CATALOG_WORKFLOW_TYPE } from '../cluster/conventions.js';
import { type StartTemporalWorkersOptions, startTemporalWorkers } from './supervisor.js';

/** As other makers read it. */
const TOO_FAR = { name: 'RangeError', message: 'too far', code: 'E_FAR' };

const WORKFLOW = `
import { workflow, sleep, condition, defineSignal, defineUpdate, getExternalWorkflowHandle, setHandler, log, CancellationScope, isCancellation, z } from 'perdure';
import * as steps from './steps.js';

export const greets = workflow({
  name: 'greets',
  aliases: ['hello'],
  inputSchema: z.object({ name: z.string(), times: z.number().default(1) }),
  outputSchema: z.object({ greeting: z.string() }),
  fn: async ({ name, times }) => ({ greeting: (await steps.greet(name)).repeat(times) }),
});
export const fails = workflow({ name: 'fails', fn: async () => {
  throw Object.assign(new RangeError('too far'), { code: 'E_FAR' });
} });
export const says = workflow({ name: 'says', fn: async () => {
  log.info('before', { at: 1 });
  console.warn('in between');
  await steps.greet('x');
  log.info('after');
} });
export const waits = workflow({ name: 'waits', fn: async () => {
  const seen = [];
  await sleep(10);
  setHandler(defineSignal('add'), (value) => { seen.push(value); });
  setHandler(defineUpdate('set'), (value) => { seen.push(value); return seen.length; }, {
    validator: (value) => { if (value < 0) throw new Error('not below zero'); },
  });
  await condition(() => seen.includes('end'));
  return seen;
} });
export const cleansUp = workflow({ name: 'cleansUp', fn: async () => {
  try {
    await steps.waitsForAbort();
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() => steps.greet('cleaned'));
    throw error;
  }
} });
export const leavesBehind = workflow({ name: 'leavesBehind', fn: async ({ other }) => {
  void getExternalWorkflowHandle(other).signal('add', 'end');
  void greets({ name: 'detached' }, { workflowId: other + '-child', detached: true });
  return 'left';
} });
export const blocks = workflow({ name: 'blocks', fn: (firstMs) => steps.blocks(firstMs) });
export const slow = workflow({ name: 'slow', fn: () => steps.slow() });
export const beats = workflow({ name: 'beats', fn: () => steps.beats() });
`;
const STEPS = `
import { step, stepContext } from 'perdure';
import { setTimeout as sleep } from 'node:timers/promises';
export const greet = step({ name: 'greet', fn: async (name) => 'Hello, ' + name });
export const slow = step({ name: 'slow', fn: async () => { await sleep(1_500); return stepContext().attempt; } });
export const blocks = step({ name: 'blocks', options: { retry: { initialInterval: 1 } }, fn: async (firstMs) => {
  const { attempt, heartbeat, lastHeartbeat } = stepContext();
  if (attempt > 1) return { attempt, lastHeartbeat };
  heartbeat('under way');
  for (const until = Date.now() + firstMs; Date.now() < until; );
  return { attempt };
} });
export const waitsForAbort = step({ name: 'waitsForAbort', options: { cancellationType: 'WAIT_CANCELLATION_COMPLETED' }, fn: async () => {
  const { signal } = stepContext();
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  throw signal.reason;
} });
export const beats = step({ name: 'beats', options: { retry: { initialInterval: 1 } }, fn: async () => {
  const { attempt, heartbeat, lastHeartbeat } = stepContext();
  if (attempt > 1) return { attempt, lastHeartbeat };
  heartbeat({ done: 1 });
  heartbeat({ done: 2 });
  throw new Error('half way');
} });
`;

interface Line {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

describeTemporal('a Temporal worker', () => {
  takeOneIn(2);
  let root: string;
  let server: DevServer;
  let connection: Connection;
  let client: Client;
  let workers: WorkerSupervisor | undefined;
  let lines: Line[];
  let catalog: string;
  let count = 0;
  const log = Object.fromEntries(
    (['debug', 'info', 'warn', 'error'] as const).map((level) => [
      level,
      (fields: Record<string, unknown>, message: string) => lines.push({ level, fields, message }),
    ]),
  ) as unknown as Log;

  beforeAll(async () => {
    server = await DevServer.start();
    connection = Connection.lazy({ address: server.address });
    client = new Client({ connection });
  });
  afterAll(async () => {
    await connection?.close();
    await server?.stop();
  });
  beforeEach(prepare);
  afterEach(async () => {
    await workers?.stop(100);
    workers = undefined;
    rmSync(root, { recursive: true, force: true });
  });

  function prepare(): void {
    root = mkdtempSync(join(tmpdir(), 'perdure-temporal-worker-'));
    lines = [];
    catalog = `catalog-${++count}`;
    write({ 'flow/workflow.js': WORKFLOW, 'flow/steps.js': STEPS });
  }

  function write(files: Record<string, string>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  }

  function begin(options: Partial<StartTemporalWorkersOptions> = {}): WorkerSupervisor {
    workers = startTemporalWorkers({
      directory: root,
      temporal: { address: server.address, namespace: server.namespace },
      catalog,
      count: 1,
      resultFormat: 'current',
      log,
      ...options,
    });
    return workers;
  }

  async function redeploy(options?: Partial<StartTemporalWorkersOptions>): Promise<void> {
    await workers?.stop(100);
    await begin(options).ready;
  }

  const start = (type: string, input?: unknown, workflowId = `${type}-${++count}`): Promise<WorkflowHandle> =>
    client.workflow.start(type, { taskQueue: catalog, workflowId, args: input === undefined ? [] : [input] });

  const run = async (type: string, input?: unknown): Promise<unknown> => (await start(type, input)).result();

  async function failureOf(handle: WorkflowHandle): Promise<Error & Record<string, unknown>> {
    const error = await handle.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WorkflowFailedError);
    return (error as WorkflowFailedError).cause as never;
  }

  describe('runs that another tool has started', () => {
    let shared: { root: string; catalog: string; workers: WorkerSupervisor };

    beforeAll(async () => {
      prepare();
      shared = { root, catalog, workers: begin() };
      workers = undefined;
      await shared.workers.ready;
    });
    beforeEach(() => {
      rmSync(root, { recursive: true, force: true });
      catalog = shared.catalog;
    });
    afterAll(async () => {
      await shared.workers.stop(100);
      rmSync(shared.root, { recursive: true, force: true });
    });

    test('are executed, parsed on both sides, and say that their result is of the current form', async () => {
      const handle = await start('greets', { name: 'Ada' });
      expect(await handle.result()).toEqual({ greeting: 'Hello, Ada' });
      expect((await handle.describe()).memo).toEqual({ payloadVersion: '2' });
    });

    test('with an input that does not fit fail, without a try again', async () => {
      const { message } = await failureOf(await start('greets', { name: 1 }));
      expect(message).toContain('input of workflow "greets" is invalid: name:');
    });

    test('fail with the name, the properties and the place of what was thrown', async () => {
      const failure = await failureOf(await start('fails'));
      expect(failure).toMatchObject({ message: 'too far', type: 'RangeError' });
      expect(failure.details).toEqual([{ properties: { code: 'E_FAR' }, error: TOO_FAR }]);
      expect((failure as { failure?: { stackTrace?: string } }).failure?.stackTrace).toMatch(
        /at .*flow\/workflow\.js:\d+:\d+/,
      );
    });

    test('get the signals that came before a handler was there, and updates that pass the validator', async () => {
      const handle = await start('waits');
      await handle.signal('add', 'early');
      await expect.poll(() => handle.executeUpdate('set', { args: [1] }).catch(() => 0)).toBeGreaterThan(1);
      await expect(handle.executeUpdate('set', { args: [-1] })).rejects.toMatchObject({
        cause: { message: 'not below zero' },
      });
      await handle.signal('add', 'end');
      expect(await handle.result()).toEqual(['early', 1, 'end']);
    });

    test('are cancelled with their cleanup, and so are their running steps', async () => {
      const handle = await start('cleansUp');
      await expect.poll(async () => (await handle.describe()).raw.pendingActivities?.[0]?.state).toBe(2);
      await handle.cancel();
      await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      const types = (await handle.fetchHistory()).events!.map(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name,
      );
      expect(types.filter(Boolean)).toEqual(['cleansUp#waitsForAbort', 'cleansUp#greet']);
    });

    test('reach others although they end in the same turn', async () => {
      const other = await start('waits');
      expect(await run('leavesBehind', { other: other.workflowId })).toBe('left');
      expect(await other.result()).toEqual(['end']);
      expect(await client.workflow.getHandle(`${other.workflowId}-child`).result()).toEqual({
        greeting: 'Hello, detached',
      });
    });

    test('keep the last heartbeat for the next attempt', async () => {
      expect(await run('beats')).toEqual({ attempt: 2, lastHeartbeat: { done: 2 } });
    });
  });

  test('a run of an unknown type waits for the file that defines it', async () => {
    await begin().ready;
    const handle = await start('later', 1);
    await expect
      .poll(async () => JSON.stringify(await handle.fetchHistory()))
      .toContain('this worker has no workflow \\"later\\"');
    write({
      'later/workflow.js': `import { workflow } from 'perdure'; export default workflow({ name: 'later', fn: (n) => n + 1 });`,
    });
    await redeploy();
    expect(await handle.result()).toBe(2);
  });

  test('log lines appear once, whatever is replayed', async () => {
    await begin({ cacheSize: 0 }).ready;
    const handle = await start('says');
    await handle.result();
    const said = lines.filter(({ fields }) => fields.workflowId === handle.workflowId);
    expect(said.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'before'],
      ['warn', 'in between'],
      ['info', 'after'],
    ]);
    expect(said[0]!.fields).toMatchObject({ at: 1, workflowType: 'says', catalog });
  });

  test('results of the older form stand beside their trace', async () => {
    await begin({ resultFormat: 'legacy' }).ready;
    const handle = await start('greets', { name: 'Ada' });
    expect(await handle.result()).toEqual({ output: { greeting: 'Hello, Ada' }, trace: null });
    expect((await handle.describe()).memo ?? {}).toEqual({});
    const failure = await failureOf(await start('fails'));
    expect(failure.details).toEqual([{ properties: { code: 'E_FAR' }, error: TOO_FAR, trace: null }]);
  });

  describe('the registration', () => {
    const registration = () => client.workflow.getHandle(catalog);

    test('is made once by however many workers start together, and says the same after a deployment of the same', async () => {
      await begin({ count: 2 }).ready;
      const { runId, memo, type } = await registration().describe();
      expect(type).toBe(CATALOG_WORKFLOW_TYPE);
      expect(memo?.workflowNames).toMatchObject({ greets: 'greets', hello: 'greets' });
      const history = await client.workflow.getHandle(catalog, runId).fetchHistory();
      expect(history.events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId).toBe(runId);
      await redeploy();
      const { memo: later, status } = await registration().describe();
      expect({ names: later?.workflowNames, status: status.name }).toEqual({
        names: memo?.workflowNames,
        status: 'RUNNING',
      });
      const { workflows } = (await registration().query('get')) as { workflows: { name: string }[] };
      expect(workflows.map(({ name }) => name)).toContain('greets');
    });

    test('follows new code, also where only a step is described otherwise, and outlives its workers', async () => {
      await begin().ready;
      const { runId } = await registration().describe();
      write({
        'flow/steps.js': STEPS.replace(`name: 'greet',`, `name: 'greet', description: 'says hello',`),
      });
      await redeploy();
      const second = await registration().describe();
      expect(second.runId).not.toBe(runId);
      await workers!.stop(0);
      expect((await registration().describe()).status.name).toBe('RUNNING');
      expect(JSON.stringify(await registration().fetchHistory())).not.toContain('workflowTaskFailed');
    });

    test('leaves a run of that id alone, and says what is in the way', async () => {
      const handle = await client.workflow.start('something', {
        taskQueue: 'elsewhere',
        workflowId: catalog,
      });
      await expect(begin().ready).rejects.toThrow(
        `a run of workflow "something" has the id "${catalog}", under which this catalog would be registered`,
      );
      const { status, type } = await handle.describe();
      expect([status.name, type]).toEqual(['RUNNING', 'something']);
      await handle.terminate();
      await begin().ready;
      expect((await registration().describe()).type).toBe(CATALOG_WORKFLOW_TYPE);
    });

    test('takes the place of a registration of another maker', async () => {
      const memo = { workflowNames: { greets: 'greets' } };
      await client.workflow.start('catalog', { taskQueue: catalog, workflowId: catalog, memo });
      await begin().ready;
      expect((await registration().describe()).type).toBe(CATALOG_WORKFLOW_TYPE);
    });

    test('that somebody ends is made again', async () => {
      await begin().ready;
      const { runId } = await registration().describe();
      await registration().terminate('by mistake');
      await expect
        .poll(
          async () => {
            const { status, runId: now } = await registration().describe();
            return status.name === 'RUNNING' && now !== runId;
          },
          { timeout: 30_000 },
        )
        .toBe(true);
      expect(await run('greets', { name: 'Ada' })).toEqual({ greeting: 'Hello, Ada' });
    });

    test('that somebody asks to stop, as any workflow can, stays', async () => {
      await begin().ready;
      const { runId } = await registration().describe();
      await registration().cancel();
      const { workflows } = (await registration().query('get')) as { workflows: { name: string }[] };
      expect(workflows.map(({ name }) => name)).toContain('greets');
      const now = await registration().describe();
      expect([now.status.name, now.runId]).toEqual(['RUNNING', runId]);
    });

    test('that is too large for the cluster is refused in words', async () => {
      const description = 'x'.repeat(3 * 1024 * 1024);
      write({
        'big/workflow.js': `import { workflow } from 'perdure'; export default workflow({ name: 'big', description: '${description}', fn: () => 1 });`,
      });
      await expect(begin().ready).rejects.toThrow(
        /take \d+ bytes, and the Temporal cluster keeps at most 2097152/,
      );
    });
  });

  test('files that cannot be evaluated are refused', async () => {
    write({
      'bad/workflow.js': `import { workflow } from 'perdure'; new WeakRef({}); export default workflow({ name: 'bad', fn: () => 1 });`,
    });
    await expect(begin().ready).rejects.toThrow(/bad\/workflow\.js: .*WeakRef cannot be used in a workflow/);
  });

  test('steps under way end within the grace', async () => {
    await begin().ready;
    const handle = await start('slow');
    await expect.poll(async () => (await handle.describe()).raw.pendingActivities?.[0]?.state).toBe(2);
    await workers!.stop(10_000);
    await begin().ready;
    expect(await handle.result()).toBe(1);
  });

  test('a worker that Temporal itself has stopped is replaced', async () => {
    // As after an error of its own, with a step under way that does not end.
    const runtime = new URL('../../../node_modules/@temporalio/worker/lib/runtime.js', import.meta.url);
    write({
      'flow/steps.js': `${STEPS}
        export const stops = step({ name: 'stops', options: { retry: { initialInterval: 1 } }, fn: async () => {
          if (stepContext().attempt > 1) return 'on another worker';
          const { default: { Runtime } } = await import(${JSON.stringify(runtime.pathname)});
          for (const stop of Runtime.instance().shutdownSignalCallbacks) stop();
          await new Promise(() => {});
        } });`,
      'flow/workflow.js': `${WORKFLOW}
        export const stops = workflow({ name: 'stops', fn: () => steps.stops() });`,
    });
    await begin({ livenessMs: 4_000 }).ready;
    const [pid] = workers!.pids();
    expect(await run('stops')).toBe('on another worker');
    expect(workers!.pids()).not.toContain(pid);
    expect(lines.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('this worker cannot go on'),
    );
  });

  describe('a step that blocks its process', () => {
    const livenessMs = 4_000;

    test('for longer than the worker may be silent is not taken for lost', async () => {
      await begin({ livenessMs }).ready;
      expect(await run('blocks', 2 * livenessMs)).toEqual({ attempt: 1 });
    });

    test.runIf(canMakeCertificates)(
      'is not taken for lost where the cluster asks for a certificate',
      async () => {
        const { ca, cert, key } = makeCertificates(root);
        const front = await TlsFront.start(server.port, { ca, cert, key });
        try {
          const tls = {
            serverRootCa: readFileSync(ca),
            clientCert: readFileSync(cert),
            clientKey: readFileSync(key),
            serverName: 'perdure.test',
          };
          const { namespace } = server;
          await begin({ livenessMs, temporal: { address: front.address, namespace, tls } }).ready;
          expect(await run('blocks', 2 * livenessMs)).toEqual({ attempt: 1 });
        } finally {
          await front.stop();
        }
      },
    );

    test('and is killed is tried again, with what it has said', async () => {
      await begin({ livenessMs }).ready;
      const handle = await start('blocks', 60_000);
      await pause(1.5 * livenessMs);
      process.kill(workers!.pids()[0]!, 'SIGKILL');
      expect(await handle.result()).toEqual({ attempt: 2, lastHeartbeat: 'under way' });
    });
  });

  describe('a cluster that is away', () => {
    test('at the start is waited for, and the workflows are ready meanwhile', async () => {
      await server.kill();
      await begin().ready;
      expect(lines.filter(({ message }) => message.includes('is waited for'))).toHaveLength(1);
      await server.restart();
      expect(await run('greets', { name: 'Ada' })).toEqual({ greeting: 'Hello, Ada' });
    });

    test('and comes back finds its workers', async () => {
      await begin().ready;
      const [pid] = workers!.pids();
      const handle = await start('waits');
      await server.kill();
      await server.restart();
      await expect
        .poll(() =>
          handle.signal('add', 'end').then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      expect(await handle.result()).toEqual(['end']);
      expect(workers!.pids()).toEqual([pid]);
    });
  });
});
