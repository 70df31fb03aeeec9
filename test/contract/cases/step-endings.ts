import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';
import { causes, type Described } from '../workflows/shared/described.js';

/** Steps that end otherwise than by their own result or error: by time, or because nobody wants them any more. */
export function stepEndingCases(stage: Stage): void {
  describe('step timeouts', () => {
    test('start-to-close ends one attempt and the next one may succeed (AC-06)', async () => {
      const place = stage.place();
      expect(await stage.run('callTimed', { ...place, step: 'shortAttempt', hangs: 1 })).toEqual({
        value: 2,
      });
      await stage.ledger.until(place.key, 'aborted');
      expect(stage.ledger.entries(place.key, 'ran')).toHaveLength(2);
    });

    test('start-to-close on the last attempt is a timeout of that kind', async () => {
      const run = await stage.start('callTimed', { ...stage.place(), step: 'shortAttempt', hangs: 9 });
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error)).toContainEqual(
        expect.objectContaining({ name: 'TimeoutError', timeoutType: 'START_TO_CLOSE' }),
      );
      const [timedOut] = await run.eventsOf('ACTIVITY_TASK_TIMED_OUT');
      expect(timedOut!.attributes).toMatchObject({ retryState: 'MAXIMUM_ATTEMPTS_REACHED' });
    });

    test('schedule-to-close ends the step while an attempt is under way (AC-08)', async () => {
      const place = stage.place();
      const run = await stage.start('callTimed', { ...place, step: 'shortWhole', hangs: 9 });
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error)).toContainEqual(expect.objectContaining({ name: 'TimeoutError' }));
      await stage.ledger.until(place.key, 'aborted');
      expect(stage.ledger.entries(place.key, 'ran')).toHaveLength(1);
      expect((await run.eventTypes()).slice(-2)).toEqual([
        'ACTIVITY_TASK_TIMED_OUT',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test('an attempt that would begin after schedule-to-close is not waited for (AC-08)', async () => {
      const place = stage.place();
      const result = (await stage.run('callPlaced', { ...place, step: 'shortBackoff' })) as {
        error: Described;
      };
      expect(JSON.stringify(result)).toContain('try me much later');
      expect(stage.ledger.entries(place.key)).toHaveLength(1);
    });

    test('a silent step times out, and the next attempt gets its last heartbeat (AC-09)', async () => {
      const place = stage.place();
      expect(await stage.run('callTimed', { ...place, step: 'silent', hangs: 1 })).toEqual({
        value: { attempt: 2, lastHeartbeat: { page: 2, of: 1 } },
      });
    });

    test('a heartbeat timeout on the last attempt is a timeout of that kind', async () => {
      const run = await stage.start('callTimed', { ...stage.place(), step: 'silent', hangs: 9 });
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error)).toContainEqual(
        expect.objectContaining({ name: 'TimeoutError', timeoutType: 'HEARTBEAT' }),
      );
    });

    test('a step that beats outlives its heartbeat timeout', async () => {
      const run = await stage.start('callPlaced', { ...stage.place(), step: 'beating' });
      expect(await run.result()).toEqual({ value: 'beaten' });
      // An attempt may have been lost with its server, but none for want of a heartbeat.
      const [started] = await run.eventsOf('ACTIVITY_TASK_STARTED');
      expect([undefined, 'WorkerCrashed']).toContain(started!.attributes.lastFailure?.type);
    });

    test('an attempt that has lost the step cannot answer for it any more (AC-16, WT-23)', async () => {
      const place = stage.place();
      const run = await stage.start('callPlaced', { ...place, step: 'deaf' });
      await stage.ledger.until(place.key, 'started', 2);
      stage.ledger.release(`${place.key}/1`);
      await stage.ledger.until(place.key, 'answering', 1);
      stage.ledger.release(`${place.key}/2`);
      expect(await run.result()).toEqual({ value: 'answer of attempt 2' });
      const types = await run.eventTypes();
      expect(types.filter((type) => /^ACTIVITY_TASK_(COMPLETED|FAILED|TIMED_OUT)$/.test(type))).toEqual([
        'ACTIVITY_TASK_COMPLETED',
      ]);
    });

    test('a failed attempt leaves its heartbeat to the next', async () => {
      expect(await stage.run('callPlaced', { ...stage.place(), step: 'leavingOff' })).toEqual({
        value: { done: 7 },
      });
    });
  });

  describe('cancelling a step', () => {
    test('TRY_CANCEL: the workflow goes on at once and the step is told (AC-12)', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'gatedTryCancel' });
      await stage.ledger.until(place.key, 'started');
      await run.signal('cancelStep');
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      const types = await run.eventTypes();
      expect(types).toContain('ACTIVITY_TASK_CANCEL_REQUESTED');
      await stage.ledger.until(place.key, 'aborted');
    });

    test('WAIT_CANCELLATION_COMPLETED: the workflow goes on when the step has ended (AC-11, AC-12)', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'gatedWaitCancelled' });
      await stage.ledger.until(place.key, 'started');
      await run.signal('cancelStep');
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'ACTIVITY_TASK_SCHEDULED',
        'WORKFLOW_EXECUTION_SIGNALED',
        'ACTIVITY_TASK_CANCEL_REQUESTED',
        'ACTIVITY_TASK_STARTED',
        'ACTIVITY_TASK_CANCELED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
      expect(stage.ledger.entries(place.key, 'aborted')).toHaveLength(1);
    });

    test('ABANDON: the workflow goes on and the step is left alone (AC-12)', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'gatedAbandon' });
      await stage.ledger.until(place.key, 'started');
      await run.signal('cancelStep');
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      expect(await run.eventTypes()).not.toContain('ACTIVITY_TASK_CANCEL_REQUESTED');
    });

    test('a step may finish its work although it was cancelled (AC-11, AC-14)', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'stubborn' });
      await stage.ledger.until(place.key, 'started');
      await run.signal('cancelStep');
      expect(await run.result()).toEqual({ value: 'done anyway' });
      expect(
        (await run.eventTypes()).filter((type) => /^ACTIVITY_TASK_(COMPLETED|FAILED|CANCELED)$/.test(type)),
      ).toEqual(['ACTIVITY_TASK_COMPLETED']);
    });

    test('a cancelled step that throws an error of its own has failed, and is not tried again', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'sulking' });
      await stage.ledger.until(place.key, 'started');
      await run.signal('cancelStep');
      const { error } = (await run.result()) as { error: Described };
      expect(JSON.stringify(error)).toContain('cleanup failed');
      expect(stage.ledger.entries(place.key, 'started')).toHaveLength(1);
    });

    test('a step that is cancelled in the turn that calls it never runs (AC-13)', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'gatedWaitCancelled', before: true });
      const { error } = (await run.result()) as { error: Described };
      expect(causes(error).map((each) => each.name)).toContain('CancelledError');
      expect(await run.eventTypes()).not.toContain('ACTIVITY_TASK_STARTED');
      expect(stage.ledger.entries(place.key)).toEqual([]);
    });

    test('a step in flight when its run is terminated is told, and its result is dropped (AC-22)', async () => {
      const place = stage.place();
      const run = await stage.start('cancelOneStep', { ...place, step: 'gatedTryCancel' });
      await stage.ledger.until(place.key, 'started');
      await run.terminate('enough');
      await stage.ledger.until(place.key, 'aborted');
      expect((await run.eventTypes()).slice(-1)).toEqual(['WORKFLOW_EXECUTION_TERMINATED']);
      expect(stage.ledger.entries(place.key, 'started')).toHaveLength(1);
    });
  });
}
