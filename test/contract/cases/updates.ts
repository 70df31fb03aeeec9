import { describe, expect, test } from 'vitest';
import { type Run, type Stage, TURN_EVENTS } from '../stage.js';

/** Runs that are tried for it. */
const TRIES = 3;

/**
 * A run whose history is the same after what `happens` to it. Temporal puts the turn of an update that comes to nothing into the
 * history after all when no worker has taken it for some seconds; then, and only then, another run is tried.
 */
async function leftUntouched(
  prepared: () => Promise<Run>,
  happens: (run: Run) => Promise<void>,
): Promise<Run> {
  for (let tries = 1; ; tries++) {
    const run = await prepared();
    const before = await run.history();
    await happens(run);
    const after = await run.history();
    const added = after.slice(before.length);
    const isOnlyLate = added.length > 0 && added.every(({ type }) => TURN_EVENTS.has(type));
    if (!isOnlyLate || tries === TRIES) {
      expect(after).toEqual(before);
      return run;
    }
    await run.terminate();
  }
}

export function updateCases(stage: Stage): void {
  describe('updates', () => {
    test('an update answers with what its handler returned, and leaves accepted and completed (UP-02)', async () => {
      const run = await stage.start('account');
      expect(await run.update('withdraw', 30)).toBe(70);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
        'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
      ]);
      const [accepted] = await run.eventsOf('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
      const [completed] = await run.eventsOf('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
      expect(accepted!.attributes).toMatchObject({ updateName: 'withdraw', input: ['30'] });
      expect(completed!.attributes).toMatchObject({
        updateId: accepted!.attributes.updateId,
        acceptedEventId: accepted!.id,
        result: '70',
      });
      await run.signal('finish');
      expect(await run.result()).toMatchObject({ balance: 70 });
    });

    test('an update whose handler returns nothing answers with nothing', async () => {
      const run = await stage.start('account');
      expect(await run.update('nothing')).toBeUndefined();
      await run.terminate();
    });

    test('an update that the validator refuses leaves the history as it was (UP-01)', async () => {
      const run = await leftUntouched(
        async () => {
          const account = await stage.start('account');
          expect(await account.update('withdraw', 90)).toBe(10);
          return account;
        },
        (account) =>
          expect(account.update('withdraw', 11)).rejects.toMatchObject({
            name: 'UpdateRejectedError',
            status: 400,
            message: expect.stringContaining('only 10 left'),
          }),
      );
      expect(await run.query('state')).toMatchObject({ balance: 10 });
      expect(await run.update('withdraw', 10)).toBe(0);
      await run.terminate();
    });

    test('a validator does not run again at replay (UP-15)', async () => {
      const run = await stage.start('account', stage.place());
      await run.update('withdraw', 1);
      await run.update('withdraw', 1);
      await run.update('deposit', 5);
      const state = (await run.query('state')) as { balance: number; validated: number };
      expect(state.balance).toBe(103);
      expect(state.validated).toBeLessThanOrEqual(2);
      await run.terminate();
    });

    test('a validator cannot act (UP-16)', async () => {
      const run = await stage.start('account');
      await expect(run.update('actingValidator')).rejects.toMatchObject({ name: 'UpdateRejectedError' });
      expect(await run.eventTypes()).toEqual(['WORKFLOW_EXECUTION_STARTED']);
      await run.terminate();
    });

    test('a handler may run steps, and the update waits for them (UP-17)', async () => {
      const place = stage.place();
      const run = await stage.start('account', place);
      expect(await run.update('deposit', 11)).toEqual({ balance: 111 });
      expect(stage.ledger.entries(place.key)).toHaveLength(1);
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
        'ACTIVITY_TASK_SCHEDULED',
        'ACTIVITY_TASK_STARTED',
        'ACTIVITY_TASK_COMPLETED',
        'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
      ]);
      await run.terminate();
    });

    test('a handler that throws fails the update, and the run goes on (UP-07)', async () => {
      const run = await stage.start('account');
      await expect(run.update('withdraw', 13)).rejects.toMatchObject({
        name: 'UpdateFailedError',
        status: 422,
        message: expect.stringContaining('thirteen brings bad luck'),
      });
      expect((await run.eventTypes()).slice(-2)).toEqual([
        'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
        'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
      ]);
      const [completed] = await run.eventsOf('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
      expect(completed!.attributes.failure).toMatchObject({ type: 'OverdrawnError' });
      expect(await run.update('withdraw', 1)).toBe(99);
      await run.terminate();
    });

    test("a step's failure in a handler fails the update only", async () => {
      const run = await stage.start('account', stage.place());
      await expect(run.update('stumble')).rejects.toMatchObject({
        name: 'UpdateFailedError',
        message: expect.stringContaining('attempt 1 failed'),
      });
      expect((await run.describe()).status).toBe('running');
      await run.terminate();
    });

    test('a result that JSON cannot carry fails the update and names the path', async () => {
      const run = await stage.start('account');
      await expect(run.update('unspeakable')).rejects.toMatchObject({
        name: 'UpdateFailedError',
        message: expect.stringContaining('.list[1]'),
      });
      expect((await run.describe()).status).toBe('running');
      await run.terminate();
    });

    test('an update that nobody handles is not found and leaves no trace (UP-08)', async () => {
      const run = await leftUntouched(
        async () => {
          const account = await stage.start('account');
          await account.query('state');
          return account;
        },
        (account) =>
          expect(account.update('withdarw', 1)).rejects.toMatchObject({
            name: 'HandlerNotFoundError',
            message: expect.stringContaining('withdarw'),
          }),
      );
      await run.terminate();
    });

    test('an update right after the start finds the handler of the first turn', async () => {
      const run = await stage.start('updatedEarly');
      expect(await run.update('set', 'early')).toBe('set to early');
      expect(await run.result()).toBe('early');
    });

    test('updates are handled in the order in which they came (UP-13)', async () => {
      const run = await stage.start('account');
      const answers = await Promise.all(Array.from({ length: 8 }, (_, value) => run.update('order', value)));
      expect(answers).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      await run.signal('finish');
      expect(await run.result()).toMatchObject({ order: [0, 1, 2, 3, 4, 5, 6, 7] });
    });

    test('updates that came together are handled in the order of their acceptance', async () => {
      const run = await stage.start('account');
      await Promise.all(Array.from({ length: 8 }, (_, value) => run.update('order', value)));
      await run.signal('finish');
      const accepted = await run.eventsOf('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
      const order = accepted.map(({ attributes }) => JSON.parse(attributes.input![0]!) as number);
      expect(order.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(await run.result()).toMatchObject({ order });
    });

    test('signals and updates that came before each other are handled before each other', async () => {
      const run = await stage.start('account', stage.place());
      expect(await run.update('order', 'first')).toBe(1);
      expect(await run.update('deposit', 1)).toEqual({ balance: 101 });
      expect(await run.update('order', 'third')).toBe(3);
      await run.signal('finish');
      expect(await run.result()).toMatchObject({ order: ['first', 1, 'third'] });
    });

    test('an update that lets the workflow return still answers', async () => {
      const run = await stage.start('account');
      expect(await run.update('closing')).toBe('closed the account');
      expect(await run.result()).toMatchObject({ balance: 100 });
      expect(await run.eventTypes()).toEqual([
        'WORKFLOW_EXECUTION_STARTED',
        'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
        'WORKFLOW_EXECUTION_UPDATE_COMPLETED',
        'WORKFLOW_EXECUTION_COMPLETED',
      ]);
    });

    test.each(['finish', 'terminate', 'cancel'] as const)(
      'an accepted update whose run ends first (%s) fails and says so (UP-10, UP-11)',
      async (how) => {
        const run = await stage.start('account');
        const update = run.update('hang').then(
          () => 'answered',
          (error: Error) => error,
        );
        await run.until('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
        if (how === 'finish') await run.signal('finish');
        else await run[how]();
        expect(await update).toMatchObject({ name: 'UpdateFailedError', status: 422 });
        expect((await run.outcome()).status).toBe(
          { finish: 'completed', terminate: 'terminated', cancel: 'cancelled' }[how],
        );
      },
    );

    test('a closed run takes no update', async () => {
      const run = await stage.start('echo', 1);
      await run.result();
      await expect(run.update('any')).rejects.toMatchObject({
        name: 'WorkflowAlreadyClosedError',
        status: 409,
      });
    });

    test('a workflow can wait for its updates before it returns (UP-23)', async () => {
      const place = stage.place();
      const run = await stage.start('politeClose', place);
      const updates = [run.update('work'), run.update('work')];
      await stage.ledger.until(place.key, 'started', 2);
      stage.ledger.release(place.key);
      expect(await Promise.all(updates)).toEqual([`released ${place.key}`, `released ${place.key}`]);
      expect(await run.result()).toBe(2);
    });
  });
}
