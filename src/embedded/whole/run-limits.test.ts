/** Runs that ask for more than they may: they fail with a reason, and their callers are answered. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { ScriptedWorker, step, timer } from '../scripted-worker.fixture.js';
import { closed, folder, start } from '../started-run.fixture.js';

describe('a run', () => {
  it('is failed with a typed failure when it waits for too much at a time (AC-26)', async () => {
    const engine = folder.open({ limits: { pendingPerRun: 3 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1), step(2), timer(1, 5), timer(2, 5));
    expect(await closed(engine, run)).toMatchObject({
      status: 'failed',
      failure: { type: 'LimitExceededError' },
    });
  });

  it('answers the callers whose messages went with the turn that asked for too much', async () => {
    const engine = folder.open({ limits: { pendingPerRun: 1 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn();
    const update = engine.update(run, 'change', []).catch((error: Error) => error.name);
    const query = engine.query(run, 'state', []);
    const task = await worker.next('turn');
    expect([task.updates.length, task.queries.length]).toEqual([1, 1]);
    worker.completeTurn(task, [timer(1, 5), timer(2, 5)]);
    expect(await update).toBe('WorkflowAlreadyClosedError');
    const { turnId, runId, queries, readOnly } = await worker.next('turn');
    expect(readOnly).toBe(true);
    const answers = [{ queryId: queries[0]!.queryId, kind: 'answered', result: '1' } as const];
    worker.say({ kind: 'turnCompleted', turnId, runId, commands: [], answers });
    expect(await query).toBe('1');
  });

  it('takes no more updates than it may, those that wait for a worker included', async () => {
    const engine = folder.open({ limits: { updatesPerRun: 2 } });
    const run = await start(engine);
    const waiting = ['first', 'second'].map((name) => engine.update(run, name, []));
    await expect(engine.update(run, 'third', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
    const worker = new ScriptedWorker(engine);
    const task = await worker.next('turn');
    const answers = task.updates.flatMap(({ updateId }): Command[] => [
      { kind: 'acceptUpdate', updateId },
      { kind: 'completeUpdate', updateId, result: '1' },
    ]);
    worker.completeTurn(task, answers);
    expect(await Promise.all(waiting)).toEqual(['1', '1']);
    await expect(engine.update(run, 'third', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
  });

  it('is failed with a typed failure when its history is full', async () => {
    const engine = folder.open({ limits: { historyEvents: 10 } });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine);
    await worker.turn(step(1));
    worker.completeStep(await worker.next('step'));
    await worker.turn(step(2));
    worker.completeStep(await worker.next('step'));
    const outcome = await closed(engine, run);
    expect(outcome?.failure).toMatchObject({ type: 'LimitExceededError' });
    expect(outcome?.failure?.message).toContain('continueAsNew');
  });
});
