import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

export function queryCases(stage: Stage): void {
  describe('queries', () => {
    test('a query sees every signal that was acknowledged before it (QU-01)', async () => {
      const run = await stage.start('counts');
      for (let sent = 1; sent <= 20; sent++) {
        await run.signal('bump');
        expect(await run.query('count')).toBe(sent);
      }
      await run.terminate();
    });

    test('a query right after the start waits for the first turn (QU-02)', async () => {
      const run = await stage.start('counts');
      expect(await run.query('repeat', { any: ['thing'] })).toEqual({ value: { any: ['thing'] }, count: 0 });
      await run.terminate();
    });

    test('a query gives undefined as no value, and can be asked without payload', async () => {
      const run = await stage.start('counts');
      expect(await run.query('nothing')).toBeUndefined();
      expect(await run.query('repeat')).toEqual({ count: 0 });
      await run.terminate();
    });

    test('queries leave no event behind, however many (I13)', async () => {
      const run = await stage.start('counts');
      await run.query('count');
      const before = JSON.stringify(await run.history());
      await Promise.all(Array.from({ length: 50 }, () => run.query('count')));
      expect(JSON.stringify(await run.history())).toBe(before);
      await run.terminate();
    });

    test.each([
      ['completed', 'return'],
      ['failed', 'throw'],
    ])('a %s run answers from what it was (QU-03)', async (status, how) => {
      const run = await stage.start('counts');
      await run.signal('bump');
      await run.signal('bump');
      await run.signal('end', how);
      expect((await run.outcome()).status).toBe(status);
      const before = JSON.stringify(await run.history());
      expect(await run.query('count')).toBe(2);
      expect(JSON.stringify(await run.history())).toBe(before);
    });

    test.each(['cancel', 'terminate'] as const)(
      'a run after %s answers from what it was (QU-03)',
      async (end) => {
        const run = await stage.start('counts');
        await run.signal('bump');
        expect(await run.query('count')).toBe(1);
        await run[end]();
        await run.outcome();
        expect(await run.query('count')).toBe(1);
      },
    );

    test('an unknown query is not found, and the error lists the known ones (QU-06)', async () => {
      const run = await stage.start('counts');
      const error = await run.query('cuont').then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({ name: 'HandlerNotFoundError', status: 404 });
      expect(error!.message).toContain('cuont');
      for (const known of ['count', 'repeat', 'nothing']) expect(error!.message).toContain(known);
      await run.terminate();
    });

    test('a handler that throws fails the query and nothing else (QU-07)', async () => {
      const run = await stage.start('counts');
      await expect(run.query('broken')).rejects.toMatchObject({
        name: 'QueryFailedError',
        status: 422,
        message: expect.stringContaining('no answer to that'),
      });
      expect(await run.query('count')).toBe(0);
      await run.terminate();
    });

    test('a handler that answers with a promise is refused (QU-08)', async () => {
      const run = await stage.start('counts');
      await expect(run.query('later')).rejects.toMatchObject({ name: 'QueryFailedError' });
      await run.terminate();
    });

    test('an answer that JSON cannot carry fails the query and names the path', async () => {
      const run = await stage.start('counts');
      await expect(run.query('unspeakable')).rejects.toMatchObject({
        name: 'QueryFailedError',
        message: expect.stringContaining('.big'),
      });
      await run.terminate();
    });

    test.each(['stepping', 'sleeping'])(
      'a handler cannot act: %s is refused and leaves no trace',
      async (name) => {
        const place = stage.place();
        const run = await stage.start('counts', place);
        await expect(run.query(name)).rejects.toMatchObject({ name: 'QueryFailedError' });
        await run.signal('end', 'return');
        expect(await run.result()).toBe(0);
        expect(await run.eventTypes()).toEqual([
          'WORKFLOW_EXECUTION_STARTED',
          'WORKFLOW_EXECUTION_SIGNALED',
          'WORKFLOW_EXECUTION_COMPLETED',
        ]);
        expect(stage.ledger.entries(place.key)).toEqual([]);
      },
    );

    test('a handler that is set later answers from then on', async () => {
      const run = await stage.start('answersLate');
      await run.until('TIMER_FIRED');
      await run.untilEvent((event) => event.type === 'WORKFLOW_TASK_COMPLETED', 2);
      expect(await run.query('late')).toBe('here I am');
      await run.terminate();
    });
  });
}
