/** What an engine takes up of what the one before it has left. */
import { describe, expect, it } from 'vitest';
import { CATALOG, complete, once, ScriptedWorker, step, timer } from '../scripted-worker.fixture.js';
import { closed, folder, start } from '../started-run.fixture.js';

describe('a restart', () => {
  it('takes up all runs that wait for a worker, however many there are', async () => {
    const before = folder.open();
    const request = { workflowType: 'flow', catalog: CATALOG, input: [] };
    await Promise.all(Array.from({ length: 250 }, () => before.start(request)));
    await before.close();
    const after = folder.open();
    await expect.poll(() => after.load().turnsQueued).toBe(250);
  });

  it('goes on with the turn that was under way and keeps what had arrived during it', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    const run = await start(before);
    await lost.next('turn');
    await before.signal(run, 'kept', ['"x"']);
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    const task = await worker.turn(complete());
    expect(task.events.map((event) => event.type)).toEqual([
      'WORKFLOW_EXECUTION_STARTED',
      'WORKFLOW_TASK_SCHEDULED',
      'WORKFLOW_EXECUTION_SIGNALED',
    ]);
    expect(await closed(after, run)).toMatchObject({ status: 'completed' });
  });

  it('counts an attempt that was under way as made (AC-23) and repeats it', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    await start(before);
    await lost.turn(step(1), step(2, 'once', { retry: { ...once } }));
    const attempts = [await lost.next('step'), await lost.next('step')];
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    const again = await worker.next('step');
    expect(again).toMatchObject({ stepName: 'work', attempt: 2 });
    expect(again.idempotencyKey).toBe(attempts.find((task) => task.stepName === 'work')!.idempotencyKey);
    const turn = await worker.next('turn');
    expect(turn.events.find((event) => event.type === 'ACTIVITY_TASK_FAILED')?.attributes).toMatchObject({
      failure: { type: 'WorkerCrashed', attempt: 1 },
      retryState: 'MAXIMUM_ATTEMPTS_REACHED',
    });
    expect(worker.pending('step')).toEqual([]);
  });

  it('gives out as its first attempt a step that no worker had taken', async () => {
    const before = folder.open();
    const busy = new ScriptedWorker(before, { steps: 0 });
    const run = await start(before);
    await busy.turn(step(1));
    await before.history(run, { afterEventId: 4, limit: 1, waitMs: 5_000 });
    await before.close();

    const worker = new ScriptedWorker(folder.open());
    expect(await worker.next('step')).toMatchObject({ attempt: 1 });
  });

  it('does not repeat a step whose completion is on disk (AC-24)', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    const run = await start(before);
    await lost.turn(step(1));
    lost.completeStep(await lost.next('step'), '"once"');
    await before.history(run, { afterEventId: 6, limit: 1, waitMs: 5_000 });
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    await worker.turn(complete());
    await closed(after, run);
    expect(worker.pending('step')).toEqual([]);
  });

  it('fires the timers that came due meanwhile, once each', async () => {
    const before = folder.open();
    const lost = new ScriptedWorker(before);
    const run = await start(before);
    await lost.turn(timer(1, 20), timer(2, 3_600_000));
    await before.history(run, { afterEventId: 4, limit: 1, waitMs: 5_000 });
    await before.close();

    const after = folder.open();
    const worker = new ScriptedWorker(after);
    const task = await worker.turn(complete());
    const fired = task.events.filter((event) => event.type === 'TIMER_FIRED');
    expect(fired.map((event) => event.attributes)).toMatchObject([{ timerId: '1' }]);
  });

  it('remembers catalogs, idempotency keys and ids', async () => {
    const before = folder.open();
    new ScriptedWorker(before);
    const request = {
      workflowType: 'flow',
      catalog: CATALOG,
      input: ['1'],
      idempotency: { key: 'k', fingerprint: 'f' },
    };
    const run = await before.start(request);
    await start(before, 'mine');
    await before.close();

    const after = folder.open();
    expect((await after.catalog(CATALOG))?.workflows.map(({ entry }) => entry.name)).toEqual(['flow']);
    expect(await after.start(request)).toEqual(run);
    await expect(
      after.start({ ...request, idempotency: { key: 'k', fingerprint: 'g' } }),
    ).rejects.toMatchObject({
      name: 'IdempotencyConflictError',
    });
    await expect(start(after, 'mine')).rejects.toMatchObject({ name: 'WorkflowAlreadyExistsError' });
  });
});
