import { describe, expect, test } from 'vitest';
import { type Stage, unique } from '../stage.js';

export function cancellationCases(stage: Stage): void {
  describe('cancellation', () => {
    test('cleanup in a shielded scope runs to its end, then the run is cancelled (CA-03)', async () => {
      const place = stage.place();
      const run = await stage.start('cleansUp', place);
      await run.until('TIMER_STARTED');
      expect(await run.cancel()).toEqual({
        workflowId: run.workflowId,
        runId: run.runId,
        status: 'running',
      });
      const { status, failure, output } = await run.outcome();
      expect({ status, output }).toEqual({ status: 'cancelled', output: undefined });
      expect(failure).toMatchObject({ kind: 'cancelled', type: 'CancelledError' });
      expect(stage.ledger.entries(place.key).map((entry) => entry.value)).toEqual(['refund', 'notify']);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'TIMER_STARTED',
        'WORKFLOW_EXECUTION_CANCEL_REQUESTED',
        'TIMER_CANCELED',
        'ACTIVITY_TASK_SCHEDULED',
        'ACTIVITY_TASK_STARTED',
        'ACTIVITY_TASK_COMPLETED',
        'TIMER_STARTED',
        'TIMER_FIRED',
        'ACTIVITY_TASK_SCHEDULED',
        'ACTIVITY_TASK_STARTED',
        'ACTIVITY_TASK_COMPLETED',
        'WORKFLOW_EXECUTION_CANCELED',
      ]);
    });

    test.each([
      ['complete', 'completed'],
      ['fail', 'failed'],
      ['rethrow', 'cancelled'],
    ])('a cancelled run may %s (CA-02)', async (how, status) => {
      const run = await stage.start('answersCancel', how);
      await run.cancel();
      const outcome = await run.outcome();
      expect(outcome.status).toBe(status);
      if (how === 'complete') expect(outcome.output).toBe('"wound up"');
      if (how === 'fail')
        expect(outcome.failure).toMatchObject({ type: 'Error', message: 'cannot stop now' });
    });

    test('a cancellation that is swallowed lets the run go on (CA-08)', async () => {
      const run = await stage.start('swallowsCancel');
      await run.cancel();
      await run.until('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
      expect((await run.describe()).status).toBe('running');
      await run.signal('goOn');
      expect(await run.result()).toMatchObject({ first: { error: { name: 'CancelledError' } } });
    });

    test('asking twice is asking once (CA-01)', async () => {
      const run = await stage.start('swallowsCancel');
      await run.cancel();
      await run.cancel();
      await Promise.all([run.cancel(), run.cancel(), run.cancel()]);
      await run.signal('goOn');
      await run.result();
      expect(await run.eventsOf('WORKFLOW_EXECUTION_CANCEL_REQUESTED')).toHaveLength(1);
    });

    test('a run that is cancelled right after its start sees it (CA-06)', async () => {
      const run = await stage.start('answersCancel', 'complete');
      await run.cancel();
      expect(await run.result()).toBe('wound up');
    });

    test.each(['wait', 'try'])('cancelling a run reaches its step (%s) (CA-07)', async (step) => {
      const place = stage.place();
      const run = await stage.start('cancelledAtStep', { ...place, step });
      await stage.ledger.until(place.key, 'started');
      await run.cancel();
      expect((await run.outcome()).status).toBe('cancelled');
      await stage.ledger.until(place.key, 'aborted');
      expect(stage.ledger.entries(place.key, 'started')).toHaveLength(1);
    });

    test('what nobody awaits yet does not stand in the way of the end', async () => {
      const run = await stage.start('awaitsOneOfTwo');
      await run.until('TIMER_STARTED', 2);
      await run.cancel();
      expect((await run.outcome()).status).toBe('cancelled');
    });

    test('a closed run is left alone, and what it is is told (CA-09)', async () => {
      const run = await stage.start('echo', 1);
      await run.result();
      const before = await run.describe();
      const told = { workflowId: run.workflowId, runId: run.runId, status: 'completed' };
      expect(await run.cancel()).toEqual(told);
      expect(await stage.engine.cancel(run.pinned)).toEqual(told);
      expect(await run.describe()).toEqual(before);
    });

    test('what a scope has left under way when it ended is cancelled with the run (CA-04)', async () => {
      const place = stage.place();
      const run = await stage.start('leavesScope', place);
      await run.until('TIMER_STARTED');
      await run.cancel();
      expect((await run.outcome()).status).toBe('cancelled');
      expect(stage.ledger.entries(place.key).map((entry) => entry.value)).toEqual(['cleanup']);
    });

    test('a signal handler that is stopped with the run, or comes later, does not cut the cleanup short', async () => {
      const place = stage.place();
      const run = await stage.start('cleansUpBesideHandlers', place);
      await run.signal('nudge');
      await run.until('TIMER_STARTED');
      await run.cancel();
      await stage.ledger.until(place.key, 'started');
      await run.signal('nudge');
      const { id } = await run.until('WORKFLOW_EXECUTION_SIGNALED', 2);
      await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED' && event.id > id);
      stage.ledger.release(place.key);
      expect((await run.outcome()).status).toBe('cancelled');
      expect(stage.ledger.entries(place.key).at(-1)?.value).toBe('cleaned up');
    });

    test('a run that waits by setTimeout goes on when that is due, and is stopped at its next wait', async () => {
      const run = await stage.start('waitsByTimeout', 1_500);
      await run.until('TIMER_STARTED');
      await run.cancel();
      expect(await run.result()).toMatchObject({ error: { name: 'CancelledError' } });
      expect(await run.eventsOf('TIMER_FIRED')).toHaveLength(2);
    });

    test('a child that is asked to stop in the turn that starts it starts and sees it (CA-06, CA-11)', async () => {
      const run = await stage.start('stopsChildAtOnce');
      expect(await run.result()).toEqual({ cancelled: {}, child: 'wound up' });
    });

    test('a scope cancels what is in it and nothing beside it (CA-04)', async () => {
      expect(await stage.run('scopeTree')).toEqual({
        afterInner: ['inner cancelled'],
        seen: ['inner cancelled', 'sibling cancelled', 'shielded slept'],
        requested: [true, true],
      });
    });
  });

  describe('terminate', () => {
    test('a run is closed at once, with the reason as its last event (TE-01)', async () => {
      const place = stage.place();
      const run = await stage.start('cleansUp', place);
      await run.until('TIMER_STARTED');
      expect(await run.terminate('no more money')).toEqual({ workflowId: run.workflowId, runId: run.runId });
      expect((await run.history()).at(-1)).toMatchObject({
        type: 'WORKFLOW_EXECUTION_TERMINATED',
        attributes: { reason: 'no more money' },
      });
      await expect(stage.engine.outcome(run.pinned)).resolves.toMatchObject({
        status: 'terminated',
        failure: { type: 'TerminatedError', message: 'no more money' },
      });
      expect(stage.ledger.entries(place.key)).toEqual([]);
    });

    test('terminating twice is an error, and leaves one event (TE-05)', async () => {
      const run = await stage.start('waitForever');
      const ends = await Promise.allSettled([
        run.terminate('one'),
        run.terminate('two'),
        run.terminate('three'),
      ]);
      expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
      await expect(run.terminate()).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
        status: 409,
      });
      expect(await run.eventsOf('WORKFLOW_EXECUTION_TERMINATED')).toHaveLength(1);
    });

    test('whoever waits is released (TE-07)', async () => {
      const run = await stage.start('account');
      const outcome = run.outcome();
      const update = run.update('hang').catch((error: Error) => error.name);
      await run.until('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
      const { length } = await run.history();
      const poll = stage.engine.history(run.pinned, { afterEventId: length, limit: 10, waitMs: 20_000 });
      await run.terminate();
      expect((await outcome).status).toBe('terminated');
      expect(await update).toBe('UpdateFailedError');
      const page = await poll;
      expect(page.ended).toBe(true);
      expect(page.events.at(-1)!.type).toBe('WORKFLOW_EXECUTION_TERMINATED');
    });
  });

  describe('other runs', () => {
    test('a workflow signals another run, in order', async () => {
      const target = await stage.start('collects');
      const sender = await stage.start('signalsOther', {
        workflowId: target.workflowId,
        name: 'add',
        values: [1, 2, 3],
      });
      expect(await sender.result()).toEqual([{}, {}, {}]);
      await target.signal('finish');
      expect(await target.result()).toEqual([1, 2, 3]);
      const [first] = await target.eventsOf('WORKFLOW_EXECUTION_SIGNALED');
      expect(first!.attributes.externalWorkflowExecution).toMatchObject({ workflowId: sender.workflowId });
      expect((await sender.eventTypes()).slice(1, 3)).toEqual([
        'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
        'EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',
      ]);
    });

    test('a workflow cancels another run (CA-11)', async () => {
      const target = await stage.start('waitForever');
      const sender = await stage.start('cancelsOther', target.workflowId);
      expect(await sender.result()).toEqual({});
      expect((await target.outcome()).status).toBe('cancelled');
      expect(await sender.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
        'EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test.each(['nobody', 'closed'])(
      'a signal to a run that is not there (%s) is an error in the sender',
      async (kind) => {
        let workflowId = unique('nobody');
        if (kind === 'closed') {
          const closed = await stage.start('echo', 1);
          await closed.result();
          workflowId = closed.workflowId;
        }
        const signals = (await stage.run('signalsOther', {
          workflowId,
          name: 'add',
          values: [1],
        })) as object[];
        expect(signals[0]).toHaveProperty('error');
        expect(JSON.stringify(signals[0])).toContain(workflowId);
      },
    );

    test('to cancel a run that never was is an error in the sender', async () => {
      expect(await stage.run('cancelsOther', unique('nobody'))).toHaveProperty('error');
    });

    test('to cancel a closed run changes nothing and is no error: it has stopped', async () => {
      const closed = await stage.start('echo', 1);
      await closed.result();
      expect(await stage.run('cancelsOther', closed.workflowId)).toEqual({});
      expect((await closed.outcome()).status).toBe('completed');
    });

    test.each(['signal', 'cancel'])('a workflow is nobody else to itself: %s to the own id', async (act) => {
      const run = await stage.start('messagesItself', act);
      expect(await run.result()).toMatchObject({ error: { name: 'ExternalWorkflowError' } });
      const types = await run.eventTypes();
      expect(types).not.toContain('WORKFLOW_EXECUTION_SIGNALED');
      expect(types).not.toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
    });
  });
}
