/** What the loss of a worker costs the runs and steps that it had. */
import { describe, expect, it } from 'vitest';
import { complete, once, ScriptedWorker, step } from '../scripted-worker.fixture.js';
import { closed, folder, start } from '../started-run.fixture.js';

describe('a lost worker', () => {
  it('costs its runs a replay by another', async () => {
    const engine = folder.open();
    const first = new ScriptedWorker(engine);
    const run = await start(engine);
    await first.turn(step(1));
    first.completeStep(await first.next('step'));
    await first.next('turn');
    const second = new ScriptedWorker(engine);
    first.lose();
    const task = await second.turn(complete());
    expect(task.events[0]!.id).toBe(1);
    expect(await closed(engine, run)).toMatchObject({ status: 'completed' });
  });

  it('does not count against its steps, unless they may be tried only once (AC-23)', async () => {
    const engine = folder.open();
    await start(engine);
    let worker = new ScriptedWorker(engine);
    await worker.turn(
      step(1, 'work', { retry: { ...once, maximumAttempts: 2 } }),
      step(2, 'once', { retry: once }),
    );
    for (let attempt = 1; attempt <= 2; attempt++) {
      const tasks = [await worker.next('step'), ...(attempt === 1 ? [await worker.next('step')] : [])];
      expect(tasks.find((task) => task.stepName === 'work')?.attempt).toBe(attempt);
      worker.lose();
      worker = new ScriptedWorker(engine);
    }
    const third = await worker.next('step');
    expect(third).toMatchObject({ stepName: 'work', attempt: 3 });
    const { events } = await worker.next('turn');
    const failed = events.filter((event) => event.type === 'ACTIVITY_TASK_FAILED');
    expect(failed.map((event) => event.attributes)).toMatchObject([
      {
        failure: { type: 'WorkerCrashed', activityType: 'flow#once' },
        retryState: 'MAXIMUM_ATTEMPTS_REACHED',
      },
    ]);
  });

  it('is blamed on the suspect that was on probation, and on nothing that ran beside it', async () => {
    const engine = folder.open();
    const retry = { ...once, maximumAttempts: 2 };
    let worker = new ScriptedWorker(engine);
    for (const id of ['killer', 'victim']) {
      await start(engine, id);
      await worker.turn(step(1, id, { retry }));
    }
    // Lost together: now both are suspects, and only one of them is out at a time.
    await worker.next('step');
    await worker.next('step');
    worker.lose();
    worker = new ScriptedWorker(engine);
    const attempts: string[] = [];
    for (;;) {
      const task = await worker.next('step');
      attempts.push(task.stepName);
      if (task.stepName === 'victim') {
        expect(worker.pending('step')).toEqual([]);
        worker.completeStep(task);
        continue;
      }
      worker.lose();
      worker = new ScriptedWorker(engine);
      if (attempts.filter((name) => name === 'killer').length === 2) break;
    }
    expect(attempts.filter((name) => name === 'victim')).toHaveLength(1);
    const closings: unknown[] = [];
    while (closings.length < 2) {
      const { events } = await worker.next('turn');
      closings.push(
        ...events
          .filter((event) => /ACTIVITY_TASK_(COMPLETED|FAILED)/.test(event.type))
          .map((event) => event.type),
      );
    }
    expect(closings.sort()).toEqual(['ACTIVITY_TASK_COMPLETED', 'ACTIVITY_TASK_FAILED']);
  });

  it('leaves nothing of its run in memory once that has ended', async () => {
    const engine = folder.open();
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.next('turn');
    worker.lose();
    await engine.terminate(run, 'enough');
    expect(engine.load().runsInMemory).toBe(0);
  });

  it('that dies with every turn of a run holds that run back and no other', async () => {
    const engine = folder.open();
    const run = await start(engine, 'poison');
    for (let loss = 0; loss < 2; loss++) {
      const worker = new ScriptedWorker(engine);
      await worker.next('turn');
      worker.lose();
    }
    await engine.history(run, { afterEventId: 2, limit: 1, waitMs: 5_000 });
    expect((await engine.describe(run)).heldBack?.reason).toContain('ended whenever it ran this turn');
    const replaced = new ScriptedWorker(engine);
    const other = await start(engine, 'fine');
    expect(await replaced.turn(complete())).toMatchObject({ workflowId: 'fine' });
    expect(await closed(engine, other)).toMatchObject({ status: 'completed' });
    expect(replaced.pending('turn')).toEqual([]);

    const mended = new ScriptedWorker(engine, { codeId: 'v2' });
    replaced.lose();
    expect(await mended.turn(complete())).toMatchObject({ workflowId: 'poison' });
    expect(await closed(engine, run)).toMatchObject({ status: 'completed' });
    expect((await engine.describe(run)).heldBack).toBeUndefined();
  });
});
