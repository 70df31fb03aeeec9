/** What the engine has to see to on a cluster that the contract suite cannot show: outages, lost answers, other servers. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HistoryEvent } from '../../src/core/history/event.js';
import type { RunFilter, RunRef } from '../../src/engine.js';
import { Cluster } from '../../src/temporal/cluster/connection.js';
import { TemporalEngine } from '../../src/temporal/engine.js';
import { toPayload } from '../../src/temporal/translate/payload.js';
import { findTemporal } from './binary.js';
import { DevServer } from './dev-server.js';
import { Line } from './line.js';

/** Nobody polls it. */
const CATALOG = 'nobody';
/** Of Temporal's CommandType enum. */
const CONTINUE_AS_NEW = 10;
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
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
    await server?.stop();
  });

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
        // A call that comes while it is away is made again until it is there.
        let isDescribed = false;
        const described = user.describe(run).finally(() => {
          isDescribed = true;
        });
        await expect(user.ready()).rejects.toMatchObject({
          name: 'EngineUnavailableError',
          message: expect.stringContaining(another.address),
        });
        expect(isDescribed).toBe(false);
        await another.restart();
        expect(await described).toMatchObject({ status: 'running' });
        await user.ready();
      } finally {
        await another.stop();
      }
    });

    test('calls fail in a bounded time, and at once when it has been away for longer', async () => {
      const user = await open({ address: '127.0.0.1:9' });
      const waited = async () => {
        const before = Date.now();
        await expect(user.start(echo)).rejects.toMatchObject({ name: 'EngineUnavailableError', status: 503 });
        return Date.now() - before;
      };
      const first = await waited();
      expect(await waited()).toBeLessThan(first / 4);
    });

    test('a connection that breaks now and then does not end what waits', async () => {
      const line = await Line.to(server.port);
      const user = await open(line);
      const run = await engine.start(echo);
      const waits = [
        user.outcome(run, { waitMs: 60_000 }),
        user.history(run, { afterEventId: 2, limit: 10, waitMs: 60_000 }),
      ] as const;
      for (const wait of waits) wait.catch(() => undefined);
      // Further apart than the time for which a call is made again.
      for (let drops = 0; drops < 2; drops++) {
        await vi.waitFor(() => expect(line.connections).toBeGreaterThan(0), { timeout: 60_000 });
        await pause(drops === 0 ? 500 : 11_000);
        line.cut();
      }
      await vi.waitFor(() => expect(line.connections).toBeGreaterThan(0), { timeout: 60_000 });
      await engine.terminate(run, 'over');
      expect(await waits[0]).toMatchObject({ status: 'terminated' });
      expect(await waits[1]).toMatchObject({ ended: true });
      await user.close();
      await line.stop();
    });

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
      const made = await vi.waitFor(() => engine.describe({ workflowId }), { timeout: 60_000 });
      line.cut();
      expect(await starting).toEqual({ workflowId, runId: made.runId });
      await user.close();
      await line.stop();
    }, 120_000);

    test('of a signal: it is delivered once', async () => {
      const line = await Line.to(server.port);
      const user = await open(line);
      const run = await user.start(echo);
      line.loseAnswersTo('only once');
      const signalling = user.signal(run, 'resume', ['"only once"']);
      const signals = async () =>
        (await history(run, 100)).filter((event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED');
      await vi.waitFor(async () => expect(await signals()).toHaveLength(1), { timeout: 60_000 });
      line.cut();
      await signalling;
      expect(await signals()).toHaveLength(1);
      await user.close();
      await line.stop();
    }, 120_000);
  });

  describe('a cluster that lets only so many wait', () => {
    const WAITING = 20;
    let small: DevServer;
    beforeAll(async () => {
      small = await DevServer.start({ config: { 'frontend.namespaceCount': WAITING } });
    });
    afterAll(() => small?.stop());

    test('too many who wait are told so, and whoever does not wait is served', async () => {
      const user = await open(small);
      const runs = await Promise.all(Array.from({ length: WAITING * 2 }, () => user.start(echo)));
      const caller = new AbortController();
      const waits = runs.map((run) => user.outcome(run, { waitMs: 60_000, abort: caller.signal }));
      const refused = await Promise.race(
        waits.map((wait) => new Promise((resolve) => wait.catch((error: unknown) => resolve(error)))),
      );
      expect(refused).toMatchObject({
        name: 'TooManyRequestsError',
        status: 429,
        message: expect.stringContaining('wait'),
      });
      const page = await user.history(runs[0]!, { afterEventId: 0, limit: 10 });
      expect(page).toMatchObject({ events: [{ id: 1 }, { id: 2 }], ended: false });
      expect(await user.history(runs[0]!, { afterEventId: 1, limit: 10 })).toMatchObject({
        events: [{ id: 2 }],
        ended: false,
      });
      await user.terminate(runs[0]!, 'done');
      expect(await user.history(runs[0]!, { afterEventId: 2, limit: 10 })).toMatchObject({
        events: [{ id: 3 }],
        ended: true,
      });
      caller.abort();
      await Promise.allSettled(waits);
    });
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
      }, 60_000);
      expect(runs[0]).toMatchObject(run);
      await terminateKeepers();
      expect(await engine.start(keyed(key, 'body'))).toEqual(run);
    });

    test('keep refusing another body, and finding the run of the right one, when nobody is left who keeps them', async () => {
      const key = randomUUID();
      const run = await engine.start(keyed(key, 'body'));
      await terminateKeepers();
      await expect(engine.start(keyed(key, 'other'))).rejects.toMatchObject({
        name: 'IdempotencyConflictError',
        details: { workflowId: run.workflowId },
      });
      expect(await engine.start(keyed(key, 'body'))).toEqual(run);
      await expect(engine.start(keyed(key, 'other'))).rejects.toMatchObject({
        name: 'IdempotencyConflictError',
      });
    });

    test('refuse another body for another id as long as the run they made is there', async () => {
      const key = randomUUID();
      const run = await engine.start({ ...keyed(key, 'body'), workflowId: `kept-${key}` });
      await terminateKeepers();
      await expect(
        engine.start({ ...keyed(key, 'other'), workflowId: `other-${key}` }),
      ).rejects.toMatchObject({ name: 'IdempotencyConflictError', details: { workflowId: run.workflowId } });
      await expect(engine.describe({ workflowId: `other-${key}` })).rejects.toMatchObject({
        name: 'WorkflowNotFoundError',
      });
      // Once it is gone the key is free.
      await remove(run);
      const other = await engine.start({ ...keyed(key, 'other'), workflowId: `other-${key}` });
      expect(other.workflowId).toBe(`other-${key}`);
    });

    test('give a run that is there when the first of its chain is gone', async () => {
      const cluster = await Cluster.open(server);
      const request = { ...keyed(randomUUID(), 'body'), catalog: 'chained by hand' };
      const first = await engine.start(request);
      await continueByHand(cluster, request.catalog);
      expect(await engine.start(request)).toEqual(first);
      await remove(first);
      const found = await engine.start(request);
      expect(found).toMatchObject({ workflowId: first.workflowId });
      expect(await engine.describe(found)).toMatchObject({ status: 'running' });
      await cluster.close();
    }, 120_000);

    async function continueByHand(cluster: Cluster, queue: string): Promise<void> {
      const { namespace } = server;
      const { taskToken, workflowExecution } = await cluster.call(
        (service) => service.pollWorkflowTaskQueue({ namespace, taskQueue: { name: queue } }),
        { timeoutMs: 10_000 },
      );
      const { workflowExecutionInfo } = await cluster.call((service) =>
        service.describeWorkflowExecution({ namespace, execution: workflowExecution }),
      );
      const commands = [
        {
          commandType: CONTINUE_AS_NEW,
          continueAsNewWorkflowExecutionCommandAttributes: {
            workflowType: { name: 'echo' },
            taskQueue: { name: queue },
            input: { payloads: [toPayload('1')] },
            memo: workflowExecutionInfo?.memo,
          },
        },
      ];
      await cluster.call((service) =>
        service.respondWorkflowTaskCompleted({ namespace, taskToken, commands }),
      );
    }

    /** As retention does it. */
    async function remove(run: RunRef): Promise<void> {
      const cluster = await Cluster.open(server);
      const { namespace } = server;
      await cluster.call((service) => service.deleteWorkflowExecution({ namespace, workflowExecution: run }));
      await vi.waitFor(
        () => expect(engine.describe(run)).rejects.toMatchObject({ name: 'WorkflowNotFoundError' }),
        { timeout: 90_000, interval: 200 },
      );
      await cluster.close();
    }

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
      }, 60_000);
      for (const { execution } of found) {
        await cluster.call((service) =>
          service.terminateWorkflowExecution({ namespace, workflowExecution: execution }),
        );
      }
      await cluster.close();
    }
  });

  describe('a history that grows', () => {
    test('is read on by those who wait and by those who do not, wherever the other has been', async () => {
      const run = await engine.start(echo);
      const reads = [];
      let afterEventId = 0;
      for (let round = 0; round < 4; round++) {
        // One that waits leaves a place behind, from which one that does not goes on, and the other way round.
        const waitMs = round % 2 === 0 ? 20_000 : 0;
        await engine.signal(run, 'resume', [`${round}`]);
        const page = await engine.history(run, { afterEventId, limit: 100, waitMs });
        reads.push(...page.events);
        afterEventId = page.events.at(-1)?.id ?? afterEventId;
        await engine.history(run, { afterEventId, limit: 100, waitMs: 50 });
      }
      expect(reads).toEqual(await history(run, 100));
      expect(reads).toHaveLength(6);
    });
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
    });
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
      await vi.waitFor(async () => expect(await ids(100)).toEqual(started), { timeout: 60_000 });
      for (const limit of [1, 5, 11, 12]) expect(await ids(limit)).toEqual(started);
      const closed = await another.list({ workflowIdPrefix, status: 'terminated' }, { limit: 100 });
      expect(closed.runs).toHaveLength(4);
    });
  });

  test.each([
    `say "hello"`,
    `it's`,
    'back\\slash',
    '"',
    `x" OR "1"="1`,
    `x' OR ''='`,
    'x"--',
    'x"/*',
    '`',
    '100%_',
  ])('the run list finds an id by all of it and by its beginning: %s', async (part) => {
    const workflowId = `${part}${randomUUID()}${part}`;
    const run = await engine.start({ ...echo, workflowId });
    const other = await engine.start({ ...echo, workflowId: `${workflowId}-and more` });
    const another = await open(server);
    const found = async (filter: RunFilter) =>
      (await another.list(filter, { limit: 100 })).runs.map(({ runId }) => runId);
    await vi.waitFor(async () => expect(await found({ workflowId })).toEqual([run.runId]), {
      timeout: 60_000,
    });
    const both = [other.runId, run.runId];
    await vi.waitFor(async () => expect(await found({ workflowIdPrefix: workflowId })).toEqual(both), {
      timeout: 60_000,
    });
    await another.close();
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
    }, 120_000);

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
    }, 120_000);

    test('to a step whose end came with the end of its run is refused, and changes nothing', async () => {
      const queue = 'by hand and interrupted';
      const run = await engine.start({ ...echo, catalog: queue });
      const cluster = await Cluster.open(server);
      const worker = workerByHand(cluster, queue);
      await worker.turn({ step: true });
      await worker.step();
      await worker.turn({ step: true });
      await engine.signal(run, 'any', []);
      // The step ends while a turn is under way, which its run does not live to see the end of.
      await worker.beginTurn();
      await worker.step();
      await engine.terminate(run, 'in between');
      const types = (await history(run, 100)).map(({ type }) => type);
      expect(types.filter((type) => type === 'ACTIVITY_TASK_COMPLETED')).toHaveLength(2);
      const refusal = {
        name: 'StepNotCompletedError',
        status: 409,
        message: expect.stringContaining('no turn'),
      };
      await expect(engine.reset(run, { stepName: 'only', occurrence: 2 })).rejects.toMatchObject(refusal);
      const again = await engine.reset(run, { stepName: 'only', occurrence: 1 });
      await expect(engine.reset(run, { stepName: 'only', occurrence: 2 })).rejects.toMatchObject(refusal);
      expect(await engine.describe({ workflowId: run.workflowId })).toMatchObject({
        runId: again.runId,
        status: 'running',
      });
      await cluster.close();
    }, 120_000);

    /** A worker that does what it is told, one thing at a time. */
    function workerByHand(cluster: Cluster, queue: string) {
      const { namespace } = server;
      const taskQueue = { name: queue };
      const poll = { timeoutMs: 10_000 };
      const nextTurn = () =>
        cluster.call((service) => service.pollWorkflowTaskQueue({ namespace, taskQueue }), poll);
      let steps = 0;
      const scheduleStep = () => ({
        commandType: 1,
        scheduleActivityTaskCommandAttributes: {
          activityId: `${++steps}`,
          activityType: { name: 'echo#only' },
          taskQueue,
          startToCloseTimeout: { seconds: 10 as never },
        },
      });
      return {
        async beginTurn(): Promise<void> {
          await nextTurn();
        },
        async turn({ step }: { step?: boolean }): Promise<void> {
          const { taskToken } = await nextTurn();
          const commands = step ? [scheduleStep()] : [];
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
      engine.outcome(run, { waitMs: 600_000, abort: caller.signal }),
      engine.history(run, { afterEventId: 2, limit: 10, waitMs: 600_000, abort: caller.signal }),
    ] as const;
    setTimeout(() => caller.abort(), 200);
    expect(await waits[0]).toBeUndefined();
    expect(await waits[1]).toMatchObject({ events: [], ended: false });
  });

  test('a clock that is set back makes nobody wait longer', async () => {
    const run = await engine.start(echo);
    const user = await TemporalEngine.open({
      settings: { address: server.address, namespace: 'default' },
      limits: { messageTimeoutMs: 1_000 },
    });
    opened.push(user);
    const waits = [
      user.outcome(run, { waitMs: 1_000 }),
      user.history(run, { afterEventId: 2, limit: 10, waitMs: 1_000 }),
    ] as const;
    const update = expect(user.update(run, 'nobody', [])).rejects.toMatchObject({ status: 503 });
    await pause(300);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    try {
      expect(await waits[0]).toBeUndefined();
      expect(await waits[1]).toMatchObject({ events: [], ended: false });
      await update;
    } finally {
      vi.useRealTimers();
    }
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
