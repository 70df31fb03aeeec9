/** Places for updates and of workers are bounded, and come back however what took them ends. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../core/history/command.js';
import { complete, ScriptedWorker, step, timer } from '../scripted-worker.fixture.js';
import { folder, start } from '../started-run.fixture.js';

describe('places that are given back', () => {
  const limits = { updatesInFlightPerRun: 2 };

  it('are those of updates, however they end', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    for (let round = 0; round < 6; round++) {
      const updates = [engine.update(run, 'one', []), engine.update(run, 'two', [])];
      const ends = Promise.allSettled(updates);
      await expect(engine.update(run, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
      const task = await worker.next('turn');
      // Also while a worker has them.
      await expect(engine.update(run, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
      const ids = task.updates.map(({ updateId }) => updateId);
      worker.completeTurn(
        task,
        ids.flatMap((updateId): Command[] =>
          round % 2 === 0
            ? [{ kind: 'rejectUpdate', updateId, reason: 'validator', failure }]
            : [
                { kind: 'acceptUpdate', updateId },
                { kind: 'completeUpdate', updateId, failure },
              ],
        ),
      );
      expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    }
  });

  it('are not those of updates whose handlers are still at work', async () => {
    const engine = folder.open({ limits });
    const worker = new ScriptedWorker(engine);
    const run = await start(engine, 'a');
    await worker.turn();
    const updates = [engine.update(run, 'one', []), engine.update(run, 'two', [])];
    const task = await worker.next('turn');
    const accepted = task.updates.map(({ updateId }): Command => ({ kind: 'acceptUpdate', updateId }));
    worker.completeTurn(task, [...accepted, timer(1, 60_000)]);
    await engine.recordTrace(run, {});
    await expect(engine.update(run, 'three', [])).rejects.toMatchObject({ name: 'TooManyRequestsError' });
    await engine.terminate(run, 'enough');
    await Promise.allSettled(updates);
  });

  it('are those of workers, however their tasks end', async () => {
    const engine = folder.open();
    const retry = {
      ...{ initialIntervalMs: 0, backoffCoefficient: 1, maximumIntervalMs: 0, maximumAttempts: 1 },
      nonRetryableErrorTypes: [],
    };
    const worker = new ScriptedWorker(engine, { turns: 1, steps: 1 });
    const run = await start(engine, 'a');
    const another = () => step(++count, 'work', { retry });
    let count = 0;
    await worker.turn(another());
    worker.completeStep(await worker.next('step'));
    await worker.turn(another());
    worker.failStep(await worker.next('step'));
    await worker.turn(another());
    const { runId, scheduledEventId, attempt } = await worker.next('step');
    await engine.signal(run, 'stop', []);
    await worker.turn({ kind: 'cancelStep', activityId: '3' });
    await worker.next('stopStep');
    worker.say({ kind: 'stepCancelled', runId, scheduledEventId, attempt });
    const failed = await worker.next('turn');
    const failure = { kind: 'application', type: 'Error', message: 'no' } as const;
    const { turnId } = failed;
    worker.say({ kind: 'turnFailed', turnId, runId, cause: 'NON_DETERMINISTIC_ERROR', failure });
    const other = await start(engine, 'b');
    await worker.turn(another());
    await worker.next('step');
    const query = engine.query(other, 'state', []);
    const asked = await worker.next('turn');
    const { queryId } = asked.queries[0]!;
    worker.completeTurn(asked, [], [{ kind: 'answered', queryId, result: '1' }]);
    expect(await query).toBe('1');
    await engine.terminate({ workflowId: 'b' }, 'enough');
    await start(engine, 'c');
    await worker.next('turn');
    await engine.terminate({ workflowId: 'c' }, 'enough');
    // Still as many places as at first.
    const last = await start(engine, 'd');
    await worker.turn(another());
    worker.completeStep(await worker.next('step'));
    await worker.turn(complete());
    expect((await engine.outcome(last, { waitMs: 5_000 }))?.status).toBe('completed');
    expect((await engine.describe(run)).heldBack).toBeDefined();
    expect(engine.load()).toMatchObject({ turnsUnderWay: 0, stepsUnderWay: 0 });
  });
});
