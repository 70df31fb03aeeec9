import { describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../../src/core/history/event.js';
import { type Run, type Stage, unique } from '../stage.js';

const isOf =
  (...types: HistoryEvent['type'][]) =>
  (event: HistoryEvent) =>
    types.includes(event.type);

const signals = async (run: Run) =>
  (await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).map(({ attributes }) => attributes.signalName);

export function pausingCases(stage: Stage): void {
  /** Its first step is under way, held at its gate. */
  const atItsStep = async () => {
    const place = { ...stage.place('pause'), gate: unique('gate') };
    const run = await stage.start('pausable', place);
    await stage.ledger.until(place.key, 'started');
    return { run, place };
  };
  const ran = (key: string) => stage.ledger.entries(key, 'ran').map(({ value }) => value);

  describe('a paused run', () => {
    test('keeps what its step returns and starts nothing new, until it is resumed', async () => {
      const { run, place } = await atItsStep();
      expect(await run.pause('the supplier is down')).toEqual({
        workflowId: run.workflowId,
        runId: run.runId,
      });
      const paused = { reason: 'the supplier is down', since: expect.any(Number), by: 'operator' };
      expect(await run.describe()).toMatchObject({ status: 'running', paused });
      expect(Math.abs(Date.now() - (await run.describe()).paused!.since)).toBeLessThan(60_000);
      const listed = { workflowId: run.workflowId, paused: true } as const;
      expect((await stage.engine.list(listed, { limit: 10 })).runs).toMatchObject([
        { runId: run.runId, paused },
      ]);

      stage.ledger.release(place.gate);
      await run.untilTurnAfter(isOf('ACTIVITY_TASK_COMPLETED'));
      expect(await run.eventsOf('ACTIVITY_TASK_SCHEDULED')).toHaveLength(1);
      expect(await run.query('seen')).toEqual([]);
      expect(ran(place.key)).toEqual([]);

      await run.resume();
      expect(await run.result()).toEqual([`released ${place.gate}`, 'afterwards']);
      expect(await run.describe()).not.toHaveProperty('paused');
      expect(await signals(run)).toEqual(['perdure.pause', 'perdure.resume']);
    });

    test('takes signals that it sees when it is resumed, before what else came', async () => {
      const { run, place } = await atItsStep();
      await run.pause();
      expect((await run.describe()).paused).toMatchObject({ reason: 'no reason given', by: 'operator' });
      stage.ledger.release(place.gate);
      await run.untilTurnAfter(isOf('ACTIVITY_TASK_COMPLETED'));
      await run.signal('add', 1);
      await run.signal('add', 2);
      await run.untilEvent((event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED', 3);
      expect(await run.query('seen')).toEqual([]);
      await run.resume();
      expect(await run.result()).toEqual([1, 2, `released ${place.gate}`, 'afterwards']);
    });

    test('answers an update when it is resumed', async () => {
      const { run, place } = await atItsStep();
      await run.pause();
      let answered = false;
      const answer = run.update('push', 'a').finally(() => {
        answered = true;
      });
      // What came after it has been answered, and it has not.
      expect(await run.query('seen')).toEqual([]);
      await run.signal('add', 'b');
      await run.untilTurnAfter(
        (event) => event.type === 'WORKFLOW_EXECUTION_SIGNALED' && event.attributes.signalName === 'add',
      );
      expect(answered).toBe(false);
      await run.resume();
      expect(await answer).toEqual(expect.any(Number));
      expect(await run.query('seen')).toEqual(expect.arrayContaining(['a', 'b']));
      stage.ledger.release(place.gate);
      await run.result();
      expect(await run.eventsOf('WORKFLOW_EXECUTION_UPDATE_ACCEPTED')).toHaveLength(1);
    });

    test('has a timer that fires and waits', async () => {
      const place = stage.place('pause');
      const run = await stage.start('pausedTimer', place);
      await run.until('TIMER_STARTED');
      await run.pause();
      await run.untilTurnAfter(isOf('TIMER_FIRED'));
      expect(await run.eventsOf('ACTIVITY_TASK_SCHEDULED')).toEqual([]);
      await run.resume();
      expect(await run.result()).toBe('woken');
    });

    test('makes no further attempt of a step that fails meanwhile', async () => {
      const place = { ...stage.place('pause'), gate: unique('gate') };
      const run = await stage.start('pausedRetry', place);
      await stage.ledger.until(place.key, 'started');
      await run.pause();
      stage.ledger.release(place.gate);
      // The attempt has ended, and what would follow has had its time.
      await run.untilCodes('paused', 'stepQueued');
      expect(await stage.run('echo', 'another run')).toBe('another run');
      expect(stage.ledger.entries(place.key, 'started')).toHaveLength(1);
      await run.resume();
      expect(await run.result()).toBe('at last');
      expect(stage.ledger.entries(place.key, 'started')).toHaveLength(2);
    });

    test('is paused once, however often it is asked for, and resumed once', async () => {
      const { run, place } = await atItsStep();
      await run.resume();
      await run.pause('first');
      await run.pause('second');
      expect((await run.describe()).paused).toMatchObject({ reason: 'first' });
      await run.resume();
      await run.resume();
      expect(await run.describe()).not.toHaveProperty('paused');
      await run.pause('third');
      expect((await run.describe()).paused).toMatchObject({ reason: 'third' });
      await run.resume();
      stage.ledger.release(place.gate);
      await run.result();
      expect(await signals(run)).toEqual([
        'perdure.pause',
        'perdure.resume',
        'perdure.pause',
        'perdure.resume',
      ]);
    });

    test('by its budget is paused on by an operator, and then not resumed by the budget', async () => {
      const { run, place } = await atItsStep();
      await stage.engine.pause(run.pinned, { reason: '1 EUR is spent', by: 'budget' });
      expect((await run.describe()).paused).toMatchObject({ by: 'budget', reason: '1 EUR is spent' });
      await stage.engine.pause(run.pinned, { reason: 'also mine', by: 'operator' });
      expect((await run.describe()).paused).toMatchObject({ by: 'operator', reason: 'also mine' });
      await stage.engine.resume(run.pinned, { onlyBy: 'budget' });
      await stage.engine.pause(run.pinned, { reason: 'again', by: 'budget' });
      expect((await run.describe()).paused).toMatchObject({ by: 'operator', reason: 'also mine' });
      await run.resume();
      await stage.engine.pause(run.pinned, { by: 'budget' });
      await stage.engine.resume(run.pinned, { onlyBy: 'budget' });
      expect(await run.describe()).not.toHaveProperty('paused');
      stage.ledger.release(place.gate);
      await run.result();
    });

    test('is stopped as any other: that ends the pause, and its cleanup runs', async () => {
      const place = stage.place('pause');
      const run = await stage.start('pausedCleanup', place);
      await run.untilTurnAfter(isOf('ACTIVITY_TASK_COMPLETED'));
      await run.pause();
      await run.signal('finish');
      expect(await run.cancel()).toMatchObject({ status: 'running' });
      expect((await run.outcome()).status).toBe('cancelled');
      expect(ran(place.key)).toEqual(['begun', 'cleaned up']);
      expect(await run.describe()).not.toHaveProperty('paused');
    });

    test('is terminated as any other', async () => {
      const { run } = await atItsStep();
      await run.pause();
      await run.terminate('enough');
      expect(await run.outcome()).toMatchObject({ status: 'terminated' });
      expect(await run.describe()).not.toHaveProperty('paused');
      await expect(run.pause()).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
      await expect(run.resume()).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
    });

    test('that was asked to stop cannot be paused any more', async () => {
      const run = await stage.start('swallowsCancel');
      await run.cancel();
      await expect(run.pause()).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
        message: expect.stringContaining('asked to stop'),
      });
      expect(await run.describe()).not.toHaveProperty('paused');
      await run.signal('goOn');
      await run.result();
    });

    test('goes on as a run that is not paused when it is reset', async () => {
      const { run, place } = await atItsStep();
      await run.pause('before the reset');
      stage.ledger.release(place.gate);
      await run.untilTurnAfter(isOf('ACTIVITY_TASK_COMPLETED'));
      await run.signal('add', 'kept');
      const again = await run.reset({ stepName: 'gated' });
      expect(await again.result()).toEqual(['kept', `released ${place.gate}`, 'afterwards']);
      expect(ran(place.key)).toEqual(['afterwards']);
    });

    test('cannot be made one by a signal of that name', async () => {
      const { run, place } = await atItsStep();
      await expect(run.signal('perdure.pause')).rejects.toMatchObject({ name: 'HandlerNotFoundError' });
      expect(await run.describe()).not.toHaveProperty('paused');
      stage.ledger.release(place.gate);
      await run.result();
    });

    test('is not made one by another run, which could pause those of others', async () => {
      const { run, place } = await atItsStep();
      for (const name of ['perdure.pause', 'perdure.resume']) {
        const meddling = await stage.start('signalsOther', {
          workflowId: run.workflowId,
          name,
          values: [{ at: 9e15 }],
        });
        expect(await meddling.outcome()).toMatchObject({
          status: 'failed',
          failure: { message: expect.stringContaining('not by a signal') },
        });
      }
      expect(await signals(run)).toEqual([]);
      stage.ledger.release(place.gate);
      await run.result();
    });

    test('of which nobody knows is not there', async () => {
      const selector = { workflowId: unique('nobody'), runId: '01900000-0000-7000-8000-000000000000' };
      const missing = { name: 'WorkflowNotFoundError' };
      await expect(stage.engine.pause(selector, { by: 'operator' })).rejects.toMatchObject(missing);
      await expect(stage.engine.resume(selector)).rejects.toMatchObject(missing);
    });
  });
}
