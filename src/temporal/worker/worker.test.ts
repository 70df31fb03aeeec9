import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { takeOneIn } from '../../../test/share.js';
import { describeTemporal } from '../../../test/temporal/required.js';
import { canMakeCertificates, makeCertificates, TlsFront } from '../../../test/temporal/tls-front.js';
import type { WorkerSupervisor } from '../../worker/supervision/supervisor.js';
import { failureOf, STEPS, WORKFLOW, WorkerStage } from './worker-stage.fixture.js';

/** As other makers read it. */
const TOO_FAR = { name: 'RangeError', message: 'too far', code: 'E_FAR' };

describeTemporal('a Temporal worker', () => {
  takeOneIn(2);
  const stage = new WorkerStage();

  describe('runs that another tool has started', () => {
    let shared: { root: string; catalog: string; workers: WorkerSupervisor };

    beforeAll(async () => {
      stage.prepare();
      const { root, catalog } = stage;
      shared = { root, catalog, workers: stage.begin() };
      stage.workers = undefined;
      await shared.workers.ready;
    });
    beforeEach(() => {
      rmSync(stage.root, { recursive: true, force: true });
      stage.catalog = shared.catalog;
    });
    afterAll(async () => {
      await shared.workers.stop(100);
      rmSync(shared.root, { recursive: true, force: true });
    });

    test('are executed, parsed on both sides, and say that their result is of the current form', async () => {
      const handle = await stage.start('greets', { name: 'Ada' });
      expect(await handle.result()).toEqual({ greeting: 'Hello, Ada' });
      expect((await handle.describe()).memo).toEqual({ payloadVersion: '2' });
    });

    test('with an input that does not fit fail, without a try again', async () => {
      const { message } = await failureOf(await stage.start('greets', { name: 1 }));
      expect(message).toContain('input of workflow "greets" is invalid: name:');
    });

    test('fail with the name, the properties and the place of what was thrown', async () => {
      const failure = await failureOf(await stage.start('fails'));
      expect(failure).toMatchObject({ message: 'too far', type: 'RangeError' });
      expect(failure.details).toEqual([{ properties: { code: 'E_FAR' }, error: TOO_FAR }]);
      expect((failure as { failure?: { stackTrace?: string } }).failure?.stackTrace).toMatch(
        /at .*flow\/workflow\.js:\d+:\d+/,
      );
    });

    test('get the signals that came before a handler was there, and updates that pass the validator', async () => {
      const handle = await stage.start('waits');
      await handle.signal('add', 'early');
      await expect.poll(() => handle.executeUpdate('set', { args: [1] }).catch(() => 0)).toBeGreaterThan(1);
      await expect(handle.executeUpdate('set', { args: [-1] })).rejects.toMatchObject({
        cause: { message: 'not below zero' },
      });
      await handle.signal('add', 'end');
      expect(await handle.result()).toEqual(['early', 1, 'end']);
    });

    test('are cancelled with their cleanup, and so are their running steps', async () => {
      const handle = await stage.start('cleansUp');
      await expect.poll(async () => (await handle.describe()).raw.pendingActivities?.[0]?.state).toBe(2);
      await handle.cancel();
      await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      const types = (await handle.fetchHistory()).events!.map(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name,
      );
      expect(types.filter(Boolean)).toEqual(['cleansUp#waitsForAbort', 'cleansUp#greet']);
    });

    test('reach others although they end in the same turn', async () => {
      const other = await stage.start('waits');
      expect(await stage.run('leavesBehind', { other: other.workflowId })).toBe('left');
      expect(await other.result()).toEqual(['end']);
      expect(await stage.client.workflow.getHandle(`${other.workflowId}-child`).result()).toEqual({
        greeting: 'Hello, detached',
      });
    });

    test('keep the last heartbeat for the next attempt', async () => {
      expect(await stage.run('beats')).toEqual({ attempt: 2, lastHeartbeat: { done: 2 } });
    });
  });

  test('a run of an unknown type waits for the file that defines it', async () => {
    await stage.begin().ready;
    const handle = await stage.start('later', 1);
    await expect
      .poll(async () => JSON.stringify(await handle.fetchHistory()))
      .toContain('this worker has no workflow \\"later\\"');
    stage.write({
      'later/workflow.js': `import { workflow } from 'perdure'; export default workflow({ name: 'later', fn: (n) => n + 1 });`,
    });
    await stage.redeploy();
    expect(await handle.result()).toBe(2);
  });

  test('log lines appear once, whatever is replayed', async () => {
    await stage.begin({ cacheSize: 0 }).ready;
    const handle = await stage.start('says');
    await handle.result();
    const said = stage.lines.filter(({ fields }) => fields.workflowId === handle.workflowId);
    expect(said.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'before'],
      ['warn', 'in between'],
      ['info', 'after'],
    ]);
    expect(said[0]!.fields).toMatchObject({ at: 1, workflowType: 'says', catalog: stage.catalog });
  });

  test('results of the older form stand beside their trace', async () => {
    await stage.begin({ resultFormat: 'legacy' }).ready;
    const handle = await stage.start('greets', { name: 'Ada' });
    expect(await handle.result()).toEqual({ output: { greeting: 'Hello, Ada' }, trace: null });
    expect((await handle.describe()).memo ?? {}).toEqual({});
    const failure = await failureOf(await stage.start('fails'));
    expect(failure.details).toEqual([{ properties: { code: 'E_FAR' }, error: TOO_FAR, trace: null }]);
  });

  test('files that cannot be evaluated are refused', async () => {
    stage.write({
      'bad/workflow.js': `import { workflow } from 'perdure'; new WeakRef({}); export default workflow({ name: 'bad', fn: () => 1 });`,
    });
    await expect(stage.begin().ready).rejects.toThrow(
      /bad\/workflow\.js: .*WeakRef cannot be used in a workflow/,
    );
  });

  test('steps under way end within the grace', async () => {
    await stage.begin().ready;
    const handle = await stage.start('slow');
    await expect.poll(async () => (await handle.describe()).raw.pendingActivities?.[0]?.state).toBe(2);
    await stage.workers!.stop(10_000);
    await stage.begin().ready;
    expect(await handle.result()).toBe(1);
  });

  test('a worker that Temporal itself has stopped is replaced', async () => {
    // As after an error of its own, with a step under way that does not end.
    const runtime = new URL('../../../node_modules/@temporalio/worker/lib/runtime.js', import.meta.url);
    stage.write({
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
    await stage.begin({ livenessMs: 4_000 }).ready;
    const [pid] = stage.workers!.pids();
    expect(await stage.run('stops')).toBe('on another worker');
    expect(stage.workers!.pids()).not.toContain(pid);
    expect(stage.lines.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('this worker cannot go on'),
    );
  });

  describe('a step that blocks its process', () => {
    const livenessMs = 4_000;

    test('for longer than the worker may be silent is not taken for lost', async () => {
      await stage.begin({ livenessMs }).ready;
      expect(await stage.run('blocks', 2 * livenessMs)).toEqual({ attempt: 1 });
    });

    test.runIf(canMakeCertificates)(
      'is not taken for lost where the cluster asks for a certificate',
      async () => {
        const { ca, cert, key } = makeCertificates(stage.root);
        const front = await TlsFront.start(stage.server.port, { ca, cert, key });
        try {
          const tls = {
            serverRootCa: readFileSync(ca),
            clientCert: readFileSync(cert),
            clientKey: readFileSync(key),
            serverName: 'perdure.test',
          };
          const { namespace } = stage.server;
          await stage.begin({ livenessMs, temporal: { address: front.address, namespace, tls } }).ready;
          expect(await stage.run('blocks', 2 * livenessMs)).toEqual({ attempt: 1 });
        } finally {
          await front.stop();
        }
      },
    );

    test('and is killed is tried again, with what it has said', async () => {
      await stage.begin({ livenessMs }).ready;
      const handle = await stage.start('blocks', 60_000);
      await pause(1.5 * livenessMs);
      process.kill(stage.workers!.pids()[0]!, 'SIGKILL');
      expect(await handle.result()).toEqual({ attempt: 2, lastHeartbeat: 'under way' });
    });
  });

  describe('a cluster that is away', () => {
    test('at the start is waited for, and the workflows are ready meanwhile', async () => {
      await stage.server.kill();
      await stage.begin().ready;
      expect(stage.lines.filter(({ message }) => message.includes('is waited for'))).toHaveLength(1);
      await stage.server.restart();
      expect(await stage.run('greets', { name: 'Ada' })).toEqual({ greeting: 'Hello, Ada' });
    });

    test('and comes back finds its workers', async () => {
      await stage.begin().ready;
      const [pid] = stage.workers!.pids();
      const handle = await stage.start('waits');
      await stage.server.kill();
      await stage.server.restart();
      await expect
        .poll(() =>
          handle.signal('add', 'end').then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      expect(await handle.result()).toEqual(['end']);
      expect(stage.workers!.pids()).toEqual([pid]);
    });
  });
});
