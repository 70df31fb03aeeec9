/** What the engine has to see to on a cluster that the contract suite cannot show: outages, lost answers, other servers. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HistoryEvent } from '../../src/core/event.js';
import { Cluster } from '../../src/temporal/connection.js';
import { TemporalEngine } from '../../src/temporal/engine.js';
import { toPayload } from '../../src/temporal/translate/payload.js';
import { findTemporal } from './binary.js';
import { DevServer } from './dev-server.js';
import { Line } from './line.js';

/** Nobody polls it. */
const CATALOG = 'nobody';
const echo = { workflowType: 'echo', catalog: CATALOG, input: ['1'] };

describe.skipIf(findTemporal() === undefined)('the engine [Temporal]', () => {
  let server: DevServer;
  let engine: TemporalEngine;
  const opened: TemporalEngine[] = [];
  const open = async ({ address, namespace = 'default' }: { address: string; namespace?: string }) => {
    const one = await TemporalEngine.open({ settings: { address, namespace } });
    opened.push(one);
    return one;
  };

  beforeAll(async () => {
    server = await DevServer.start();
    engine = await open(server);
  }, 60_000);
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
    await server?.stop();
  }, 30_000);

  const history = async (run: { workflowId: string; runId: string }, pageSize: number, reader = engine) => {
    const events: HistoryEvent[] = [];
    for (;;) {
      const page = await reader.history(run, { afterEventId: events.length, limit: pageSize });
      events.push(...page.events);
      if (page.events.length < pageSize) return events;
    }
  };

  describe('a cluster that is away', () => {
    test('is said quickly, and the engine finds it again by itself', async () => {
      const another = await DevServer.start();
      const user = await open(another);
      try {
        await user.ready();
        const run = await user.start(echo);
        await another.kill();
        const before = Date.now();
        await expect(user.ready()).rejects.toMatchObject({
          name: 'EngineUnavailableError',
          message: expect.stringContaining(another.address),
        });
        expect(Date.now() - before).toBeLessThan(3_000);
        // A call that comes while it is away is made again until it is there.
        const described = user.describe(run);
        await another.restart();
        expect(await described).toMatchObject({ status: 'running' });
        await user.ready();
      } finally {
        await another.stop();
      }
    }, 60_000);

    test('calls fail in a bounded time, and at once when it has been away for longer', async () => {
      const user = await open({ address: '127.0.0.1:9' });
      const waited = async () => {
        const before = Date.now();
        await expect(user.start(echo)).rejects.toMatchObject({ name: 'EngineUnavailableError', status: 503 });
        return Date.now() - before;
      };
      expect(await waited()).toBeLessThan(15_000);
      expect(await waited()).toBeLessThan(1_000);
    }, 30_000);

    test('a namespace that is not there is named', async () => {
      const user = await open({ address: server.address, namespace: 'nowhere' });
      await expect(user.ready()).rejects.toMatchObject({
        name: 'EngineUnavailableError',
        message: expect.stringContaining('nowhere'),
      });
    });
  });

  describe('a lost answer', () => {
    test('of a start: one run, and its caller is told of it', async () => {
      const line = await Line.to(server.port);
      const user = await open(line);
      const workflowId = `lost-${randomUUID()}`;
      line.loseAnswersTo(workflowId);
      const starting = user.start({ ...echo, workflowId });
      const made = await vi.waitFor(() => engine.describe({ workflowId }), { timeout: 10_000 });
      line.cut();
      expect(await starting).toEqual({ workflowId, runId: made.runId });
      await user.close();
      await line.stop();
    }, 30_000);

    test('of a signal: it is delivered once', async () => {
      const line = await Line.to(server.port);
      const user = await open(line);
      const run = await user.start(echo);
      line.loseAnswersTo('only once');
      const signalling = user.signal(run, 'resume', ['"only once"']);
      const signals = async () =>
        (await history(run, 100)).filter((event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED');
      await vi.waitFor(async () => expect(await signals()).toHaveLength(1), { timeout: 10_000 });
      line.cut();
      await signalling;
      expect(await signals()).toHaveLength(1);
      await user.close();
      await line.stop();
    }, 30_000);
  });

  describe('idempotency keys', () => {
    const keyed = (key: string, fingerprint: string) => ({ ...echo, idempotency: { key, fingerprint } });

    test('are the same for every server', async () => {
      const another = await open(server);
      const request = keyed(randomUUID(), 'body');
      const runs = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (index % 2 ? engine : another).start(request)),
      );
      expect(new Set(runs.map((run) => run.runId)).size).toBe(1);
      await expect(another.start(keyed(request.idempotency.key, 'other'))).rejects.toMatchObject({
        name: 'IdempotencyConflictError',
        details: { workflowId: runs[0]!.workflowId },
      });
    });

    test('are not used up by a start that was refused', async () => {
      const key = randomUUID();
      const { workflowId } = await engine.start(echo);
      await expect(engine.start({ ...keyed(key, 'taken id'), workflowId })).rejects.toMatchObject({
        name: 'WorkflowAlreadyExistsError',
      });
      const run = await engine.start({ ...keyed(key, 'another id'), workflowId: `free-${key}` });
      expect(run.workflowId).toBe(`free-${key}`);
      expect(await engine.start({ ...keyed(key, 'another id'), workflowId: `free-${key}` })).toEqual(run);
      await engine.terminate(run, 'done');
      expect(await engine.start({ ...keyed(key, 'another id'), workflowId: `free-${key}` })).toEqual(run);
    });

    test('find their run also when nobody is left who keeps them', async () => {
      const key = randomUUID();
      const run = await engine.start(keyed(key, 'body'));
      const { runs } = await vi.waitFor(async () => {
        const page = await engine.list({ workflowId: run.workflowId }, { limit: 5 });
        expect(page.runs).toHaveLength(1);
        return page;
      });
      expect(runs[0]).toMatchObject(run);
      await terminateKeepers();
      expect(await engine.start(keyed(key, 'body'))).toEqual(run);
    });

    /** As their time runs out. */
    async function terminateKeepers(): Promise<void> {
      const cluster = await Cluster.open(server);
      const { namespace } = server;
      const query = "WorkflowType = '$idempotency' AND ExecutionStatus = 'Running'";
      const found = await vi.waitFor(async () => {
        const { executions } = await cluster.call((service) =>
          service.listWorkflowExecutions({ namespace, query }),
        );
        expect(executions?.length).toBeGreaterThan(0);
        return executions ?? [];
      });
      for (const { execution } of found) {
        await cluster.call((service) =>
          service.terminateWorkflowExecution({ namespace, workflowExecution: execution }),
        );
      }
      await cluster.close();
    }
  });

  describe('a long history', () => {
    test('is read in pages of any size, at a cost that grows with its length only', async () => {
      const line = await Line.to(server.port);
      const reader = await open(line);
      const run = await engine.start(echo);
      for (let round = 0; round < 30; round++) {
        await Promise.all(
          Array.from({ length: 10 }, () => engine.signal(run, 'resume', [JSON.stringify('x'.repeat(200))])),
        );
      }
      const whole = await history(run, 1_000);
      expect(whole.map((event) => event.id)).toEqual(Array.from({ length: 302 }, (_, index) => index + 1));
      const before = line.bytesBack;
      expect(await history(run, 500, reader)).toEqual(whole);
      const once = line.bytesBack - before;
      expect(await history(run, 7, reader)).toEqual(whole);
      // Some pages are read twice, since Temporal's pages end where they like; never all that lies before.
      expect(line.bytesBack - before - once).toBeLessThan(once * 6);
      expect(await reader.history(run, { afterEventId: 150, limit: 3 })).toMatchObject({
        events: whole.slice(150, 153),
        ended: false,
      });
      await reader.close();
      await line.stop();
    }, 60_000);
  });

  describe('the run list', () => {
    test('is newest first over open and closed runs, for a server that has started none of them', async () => {
      const workflowIdPrefix = `list'\\-${randomUUID()}`;
      const started: string[] = [];
      for (let index = 0; index < 12; index++) {
        const run = await engine.start({ ...echo, workflowId: `${workflowIdPrefix}-${index}` });
        started.unshift(run.runId);
        if (index % 3 === 0) await engine.terminate(run, 'x');
      }
      const another = await open(server);
      const ids = async (limit: number) => {
        const found: string[] = [];
        let cursor: string | undefined;
        for (let page = 0; page < 50; page++) {
          const { runs, nextCursor } = await another.list({ workflowIdPrefix }, { limit, cursor });
          found.push(...runs.map((run) => run.runId));
          if (nextCursor === null) return found;
          cursor = nextCursor;
        }
        throw new Error('the pages do not end');
      };
      await vi.waitFor(async () => expect(await ids(100)).toEqual(started), { timeout: 10_000 });
      for (const limit of [1, 5, 11, 12]) expect(await ids(limit)).toEqual(started);
      const closed = await another.list({ workflowIdPrefix, status: 'terminated' }, { limit: 100 });
      expect(closed.runs).toHaveLength(4);
    }, 60_000);
  });

  describe('reset', () => {
    test('goes to a step whose completion no turn has seen yet', async () => {
      const run = await engine.start({ ...echo, catalog: 'by hand' });
      const cluster = await Cluster.open(server);
      const worker = workerByHand(cluster, 'by hand');
      await worker.turn({ step: true });
      await worker.step();
      const again = await engine.reset(run, { stepName: 'only', reason: 'once more' });
      expect(await engine.outcome(run)).toMatchObject({
        status: 'terminated',
        failure: { message: 'reset after step only: once more' },
      });
      expect(await engine.describe(again)).toMatchObject({ status: 'running', firstRunId: run.runId });
      const events = await history(again, 100);
      expect(events.map((event) => event.type)).toContain('ACTIVITY_TASK_COMPLETED');
      expect((await history(run, 100)).at(-1)).toMatchObject({
        attributes: { newExecutionRunId: again.runId },
      });
      await cluster.close();
    }, 30_000);

    test('goes to a step whose completion was first seen by a turn that had failed before', async () => {
      const run = await engine.start({ ...echo, catalog: 'by hand and badly' });
      const cluster = await Cluster.open(server);
      const worker = workerByHand(cluster, 'by hand and badly');
      await worker.turn({ step: true });
      await engine.signal(run, 'any', []);
      await worker.failTurn();
      await worker.step();
      await worker.turn({});
      const [last] = (await history(run, 100)).slice(-1);
      const again = await engine.reset(run, { stepName: 'only' });
      const events = await history(again, 100);
      expect(events.map((event) => event.type)).toContain('ACTIVITY_TASK_COMPLETED');
      // The turn that saw the completion is made anew: nothing of what it decided is there.
      expect(events.filter(({ type }) => type === 'WORKFLOW_TASK_COMPLETED')).toHaveLength(1);
      expect(last?.type).toBe('WORKFLOW_TASK_COMPLETED');
      await cluster.close();
    }, 30_000);

    /** A worker that does what it is told, one thing at a time. */
    function workerByHand(cluster: Cluster, queue: string) {
      const { namespace } = server;
      const taskQueue = { name: queue };
      const poll = { timeoutMs: 10_000 };
      const nextTurn = () =>
        cluster.call((service) => service.pollWorkflowTaskQueue({ namespace, taskQueue }), poll);
      const scheduleStep = {
        commandType: 1,
        scheduleActivityTaskCommandAttributes: {
          activityId: '1',
          activityType: { name: 'echo#only' },
          taskQueue,
          startToCloseTimeout: { seconds: 10 as never },
        },
      };
      return {
        async turn({ step }: { step?: boolean }): Promise<void> {
          const { taskToken } = await nextTurn();
          const commands = step ? [scheduleStep] : [];
          await cluster.call((service) =>
            service.respondWorkflowTaskCompleted({ namespace, taskToken, commands }),
          );
        },
        async failTurn(): Promise<void> {
          const { taskToken } = await nextTurn();
          await cluster.call((service) =>
            service.respondWorkflowTaskFailed({ namespace, taskToken, cause: 24 }),
          );
        },
        async step(): Promise<void> {
          const { taskToken } = await cluster.call(
            (service) => service.pollActivityTaskQueue({ namespace, taskQueue }),
            poll,
          );
          const result = { payloads: [toPayload('1')] };
          await cluster.call((service) =>
            service.respondActivityTaskCompleted({ namespace, taskToken, result }),
          );
        },
      };
    }
  });

  test('a caller who leaves ends his wait', async () => {
    const run = await engine.start(echo);
    const caller = new AbortController();
    const waits = [
      engine.outcome(run, { waitMs: 60_000, abort: caller.signal }),
      engine.history(run, { afterEventId: 2, limit: 10, waitMs: 60_000, abort: caller.signal }),
    ] as const;
    setTimeout(() => caller.abort(), 200);
    const before = Date.now();
    expect(await waits[0]).toBeUndefined();
    expect(await waits[1]).toMatchObject({ events: [], ended: false });
    expect(Date.now() - before).toBeLessThan(5_000);
  });

  test('an input that the cluster does not take is too large, and nothing is started', async () => {
    const workflowId = `large-${randomUUID()}`;
    const input = [JSON.stringify('x'.repeat(3 * 1024 * 1024))];
    await expect(engine.start({ ...echo, workflowId, input })).rejects.toMatchObject({
      name: 'PayloadTooLargeError',
    });
    await expect(engine.describe({ workflowId })).rejects.toMatchObject({ name: 'WorkflowNotFoundError' });
  });
});
