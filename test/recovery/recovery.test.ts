/**
 * Recovery, proven simply: the service and its workers are killed in the middle of their work, by kill -9, and started
 * again. Every start that was acknowledged ends with the right result, and no step that had completed runs again.
 */
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EmbeddedEngine } from '../../src/embedded/index.js';
import { Ledger } from '../contract/ledger.js';
import { share, takeOneIn } from '../share.js';
import { freePort, Service, temporaryFolder, untilGone } from './service.js';

takeOneIn(2);
const KILLS = share(2, 3);

const workflows = fileURLToPath(new URL('../contract/workflows', import.meta.url));

describe('kill -9', () => {
  let data: ReturnType<typeof temporaryFolder>;
  const seenPids = new Set<number>();
  let ledger: Ledger;
  let port: number;
  let service: Service;

  const start = async () => {
    service = await Service.start({ workflows, dataDir: data.path, port });
    for (const pid of [service.pid, ...service.workerPids()]) seenPids.add(pid);
  };

  beforeEach(async () => {
    data = temporaryFolder();
    ledger = await Ledger.start();
    port = await freePort();
    await start();
  });

  afterEach(async () => {
    await service.stop();
    await ledger.stop();
    await untilGone(seenPids);
    data.remove();
  });

  /** Runs of several kinds, all of which report to the ledger under one key; answers with what each must return. */
  async function startSome(key: string): Promise<[workflowId: string, expected: unknown][]> {
    const place = { ledger: ledger.url, key };
    const plans: [string, unknown, unknown][] = [
      ...Array.from({ length: 8 }, (): [string, unknown, unknown] => [
        'serialSteps',
        { ...place, count: 10 },
        55,
      ]),
      ['parallelSteps', { ...place, count: 10 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
      ['callFlaky', { ...place, step: 'flaky', failures: 2 }, { value: expect.any(Number) }],
      ['descends', 4, 4],
      ['countsDown', { left: 20 }, expect.objectContaining({ runs: 1 })],
      ['timerOrder', undefined, [10, 60, 120]],
      ['someJobsFail', place, expect.objectContaining({ completed: [0, 1, 2, 3] })],
    ];
    return Promise.all(
      plans.map(
        async ([name, input, expected]): Promise<[string, unknown]> => [
          await service.startRun(name, input ?? null),
          expected,
        ],
      ),
    );
  }

  async function allFinish(runs: [workflowId: string, expected: unknown][]): Promise<void> {
    for (const [workflowId, expected] of runs) {
      const { status, output, error } = await service.result(workflowId);
      expect({ workflowId, status, error }).toEqual({ workflowId, status: 'completed', error: null });
      expect(output).toEqual(expected);
    }
  }

  /** Reads the histories, once the service has stopped, and holds what the ledger saw against them. */
  async function noCompletedStepRanAgain(
    runs: [workflowId: string, expected: unknown][],
    key: string,
  ): Promise<void> {
    await service.stop();
    const engine = EmbeddedEngine.open({ dataDir: data.path });
    try {
      for (const [workflowId] of runs) {
        const { events } = await engine.history({ workflowId }, { afterEventId: 0, limit: 1000 });
        expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index + 1));
        const scheduled = events.filter((event) => event.type === 'ACTIVITY_TASK_SCHEDULED');
        const completed = events.filter((event) => event.type === 'ACTIVITY_TASK_COMPLETED');
        for (const event of completed) {
          const call = scheduled.find((each) => each.id === event.attributes.scheduledEventId)!;
          const { value } = JSON.parse(call.attributes.input[0]!) as { value: unknown };
          const later = ledger
            .entries(key, 'ran')
            .filter((entry) => entry.workflowId === workflowId && entry.step === call.attributes.stepName)
            .filter((entry) => JSON.stringify(entry.value) === JSON.stringify(value) && entry.at > event.at);
          expect(later).toEqual([]);
        }
      }
    } finally {
      await engine.close();
    }
  }

  test('of the server, again and again: every acknowledged start finishes, no completed step runs again', async () => {
    const key = 'server';
    const runs: [string, unknown][] = [];
    for (let round = 1; round <= KILLS; round++) {
      runs.push(...(await startSome(key)));
      await ledger.until(key, 'ran', ledger.entries(key, 'ran').length + 10);
      for (const pid of service.workerPids()) seenPids.add(pid);
      await service.kill();
      await start();
    }
    await allFinish(runs);
    await noCompletedStepRanAgain(runs, key);
  }, 120_000);

  test('of the workers, again and again: they are replaced, and nothing is lost', async () => {
    const key = 'workers';
    const runs: [string, unknown][] = [];
    for (let round = 1; round <= KILLS; round++) {
      runs.push(...(await startSome(key)));
      await ledger.until(key, 'ran', ledger.entries(key, 'ran').length + 10);
      for (const pid of service.workerPids()) {
        seenPids.add(pid);
        process.kill(pid, 'SIGKILL');
      }
    }
    await allFinish(runs);
    for (const pid of service.workerPids()) seenPids.add(pid);
    await noCompletedStepRanAgain(runs, key);
  }, 120_000);

  test('of the server while a step is under way: the step is tried again, with its own key', async () => {
    const key = 'held';
    const workflowId = await service.startRun('racingSteps', { ledger: ledger.url, key });
    const [first] = await ledger.until(key, 'started');
    await ledger.until(key, 'ran');
    for (const pid of service.workerPids()) seenPids.add(pid);
    await service.kill();
    await start();
    const [, second] = await ledger.until(key, 'started', 2);
    expect(second).toMatchObject({ attempt: 2, idempotencyKey: first!.idempotencyKey });
    ledger.release(key);
    expect(await service.result(workflowId)).toMatchObject({
      status: 'completed',
      output: ['fast', `released ${key}`],
    });
  });

  test('leaves a data folder that a second process cannot take while the next one has it', async () => {
    await service.kill();
    await start();
    const second = Service.launch({ workflows, dataDir: data.path, port: await freePort() });
    seenPids.add(second.pid);
    expect(await second.exit()).toBeGreaterThan(0);
    expect(second.output).toContain(data.path);
    expect(await service.run('echo', 'undisturbed')).toMatchObject({
      status: 'completed',
      output: 'undisturbed',
    });
  });
});

describe('an orderly end', () => {
  test('SIGTERM ends the service and its workers with exit code 0, and nothing is lost', async () => {
    const data = temporaryFolder();
    const ledger = await Ledger.start();
    const options = { workflows, dataDir: data.path, port: await freePort() };
    try {
      const service = await Service.start(options);
      const place = { ledger: ledger.url, key: 'orderly' };
      const workflowId = await service.startRun('serialSteps', { ...place, count: 30 });
      await ledger.until('orderly', 'ran', 3);
      const pids = [service.pid, ...service.workerPids()];
      expect(pids.length).toBeGreaterThan(1);
      expect(await service.stop()).toBe(0);
      await untilGone(pids);
      const next = await Service.start(options);
      expect(await next.result(workflowId)).toMatchObject({ status: 'completed', output: 465 });
      expect(await next.stop()).toBe(0);
    } finally {
      await ledger.stop();
      data.remove();
    }
  });
});
