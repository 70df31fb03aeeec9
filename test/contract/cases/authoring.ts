import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

export function authoringCases(stage: Stage): void {
  describe('a step that says when it wants to be tried again', () => {
    const gaps = (key: string) => {
      const times = stage.ledger.entries(key).map(({ at }) => at);
      return times.slice(1).map((at, index) => at - times[index]!);
    };

    test.each([
      ['earlier than its policy says', 'busy', false],
      ['later than its policy allows', 'hasty', false],
      ['by a date', 'hasty', true],
    ] as const)('is, %s', async (_what, step, asDate) => {
      const place = stage.place();
      expect(await stage.run('callBusy', { ...place, step, asDate, refusals: 2, after: 1_200 })).toEqual({
        value: 3,
      });
      const [first, second] = gaps(place.key);
      // The policy of the one says milliseconds, that of the other minutes. On a busy machine the ledger hears late of an attempt.
      expect(first).toBeGreaterThanOrEqual(700);
      expect(second).toBeGreaterThanOrEqual(700);
    });

    test('is at once when the date has passed', async () => {
      const place = stage.place();
      const input = { ...place, step: 'busy', asDate: true, refusals: 1, after: -3_600_000 };
      expect(await stage.run('callBusy', input)).toEqual({ value: 2 });
    });

    test('each such attempt counts', async () => {
      const place = stage.place();
      const run = await stage.start('callBusy', { ...place, step: 'busy', refusals: 9, after: 1 });
      expect(await run.result()).toMatchObject({ error: { name: 'RetryAfterError', message: 'busy 3' } });
      expect(stage.ledger.entries(place.key)).toHaveLength(3);
      const [failed] = await run.eventsOf('ACTIVITY_TASK_FAILED');
      expect(failed!.attributes.retryState).toBe('MAXIMUM_ATTEMPTS_REACHED');
    });

    test('not beyond the time that all attempts have', async () => {
      const place = stage.place();
      const options = { scheduleToCloseTimeout: '30m' };
      const run = await stage.start('callBusy', {
        ...place,
        step: 'hasty',
        options,
        refusals: 9,
        after: 3_600_000,
      });
      expect(await run.result()).toMatchObject({ error: { name: 'RetryAfterError', message: 'busy 1' } });
      const [failed] = await run.eventsOf('ACTIVITY_TASK_FAILED');
      expect(failed!.attributes.retryState).toBe('TIMEOUT');
    });

    test('a time that is none is left out, and the message says so', async () => {
      const place = stage.place();
      const run = await stage.start('callBusy', { ...place, step: 'hasty', refusals: 9, after: -1 });
      expect(await run.result()).toMatchObject({
        error: {
          name: 'RetryAfterError',
          message: expect.stringMatching(/^busy 3 \(the time of this RetryAfterError -1/),
        },
      });
      expect(stage.ledger.entries(place.key)).toHaveLength(3);
    });
  });

  test('options for one call win over those of the step', async () => {
    const place = stage.place();
    const options = { retry: { maximumAttempts: 1 }, startToCloseTimeout: '3m' };
    const run = await stage.start('callBusy', { ...place, step: 'hasty', options, refusals: 9, after: 1 });
    expect(await run.result()).toMatchObject({ error: { message: 'busy 1' } });
    const [scheduled] = await run.eventsOf('ACTIVITY_TASK_SCHEDULED');
    expect(scheduled!.attributes.settings).toMatchObject({
      startToCloseTimeoutMs: 180_000,
      retry: { maximumAttempts: 1, initialIntervalMs: 1 },
    });
  });

  test.each(['Error', 'OwnError', 'TypeError'])(
    'a step that throws %s fails its run by that name',
    async (kind) => {
      const run = await stage.start('passThrown', kind);
      expect(await run.outcome()).toMatchObject({
        status: 'failed',
        failure: { type: kind, message: 'thrown', activityType: 'passThrown#throwing' },
      });
    },
  );

  describe('messages that are declared with schemas', () => {
    const payloads = (value: unknown) => [JSON.stringify(value)];

    test('are parsed where they are handled, and so are answers', async () => {
      const run = await stage.start('takesNotes');
      const at = { workflowId: run.workflowId };
      await stage.engine.signal(at, 'note', payloads({ by: ' ab ' }));
      await stage.engine.signal(at, 'note', payloads({ by: 'c', times: 3 }));
      expect(JSON.parse((await stage.engine.query(at, 'noted', []))!)).toEqual(['ABAB', 'CCC']);
      expect(JSON.parse((await stage.engine.query(at, 'noted', payloads({ upper: false })))!)).toEqual([
        'abab',
        'ccc',
      ]);
      await expect(stage.engine.query(at, 'noted', payloads({ upper: 1 }))).rejects.toThrow(
        'payload of query "noted" is invalid: upper: ',
      );
      await expect(stage.engine.update(at, 'close', payloads({ by: 1 }))).rejects.toThrow(
        'payload of update "close" is invalid: by: ',
      );
      expect(JSON.parse((await stage.engine.update(at, 'close', payloads({ by: ' z ' })))!)).toEqual({
        by: 'z',
        state: 'closed',
      });
      expect(await run.result()).toEqual(['abab', 'ccc']);
    });

    test('that another workflow sends and that do not fit are dropped', async () => {
      const run = await stage.start('takesNotes');
      await stage.run('sendsNote', { to: run.workflowId, payloads: [{ by: 'eve' }, 'junk', { by: 'a' }] });
      await stage.engine.update({ workflowId: run.workflowId }, 'close', payloads({ by: 'z' }));
      expect(await run.result()).toEqual(['aa']);
    });
  });
}
