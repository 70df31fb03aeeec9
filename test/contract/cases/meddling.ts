import { describe, expect, test } from 'vitest';
import type { Stage } from '../stage.js';

const HOSTILE = ['proxy', 'revoked', 'getters', 'symbol', 'nothing', 'circular', 'half', 'long'];

/** What must not have an effect on the run, or on any other, has none: also not until the next replay. */
export function meddlingCases(stage: Stage): void {
  describe('code that meddles', () => {
    test('queries and validators that assign or draw leave the run as a replay makes it', async () => {
      const run = await stage.start('meddles');
      await run.query('assigns');
      await run.query('draws');
      await expect(run.update('refused', 'circular')).rejects.toMatchObject({ name: 'UpdateRejectedError' });
      await run.query('assigns');
      const drawn = (await run.query('draws')) as unknown[];
      await run.signal('go');
      const result = (await run.result()) as { drawn: unknown[] };
      expect(result).toMatchObject({ asked: 0, refused: 0 });
      for (const own of result.drawn) expect(drawn).not.toContain(own);
      // Answered from the history alone.
      expect(await run.query('state')).toEqual(result);
    });

    test.each(HOSTILE)('an update that is refused with %s does not concern the run', async (kind) => {
      const run = await stage.start('meddles');
      await expect(run.update('refused', kind)).rejects.toMatchObject({ name: 'UpdateRejectedError' });
      await expect(run.update('throws', kind)).rejects.toMatchObject({ name: 'UpdateFailedError' });
      await expect(run.query('throws', kind)).rejects.toMatchObject({ name: 'QueryFailedError' });
      await run.signal('go');
      expect(await run.result()).toMatchObject({ refused: 0 });
    });

    test.each(HOSTILE)('a workflow that throws %s fails, with well-formed texts', async (kind) => {
      const { status, failure } = await (await stage.start('throwsHostile', kind)).outcome();
      expect(status).toBe('failed');
      const { message } = failure!;
      expect(message).not.toBe('');
      expect(message.length).toBeLessThan(20_100);
      expect(/\p{Surrogate}/u.test(message)).toBe(false);
    });

    test('an update that comes with a signal that ends the run is answered, and the run ends', async () => {
      const run = await stage.start('endsBySignal');
      await run.until('WORKFLOW_TASK_COMPLETED');
      const [, update] = await Promise.allSettled([run.signal('go'), run.update('change')]);
      expect(['fulfilled', 'rejected']).toContain(update!.status);
      expect(await run.outcome()).toMatchObject({
        status: 'failed',
        failure: { message: 'ended by a signal' },
      });
    });

    test('changes to what runs share do not reach another run, wherever the worker stands', async () => {
      const expected = await stage.run('looksAround');
      await stage.run('tampers');
      const seen = (await stage.run('looksAround')) as object;
      expect(seen).toEqual(expected);
      expect(seen).toEqual({
        call: 2,
        text: '[object Object]',
        numbers: [1, 2],
        size: 0,
        set: 'function',
        mapped: [2],
        stack: true,
        name: 'Error',
        hours: 0,
        local: '2020-01-31T12:00:00.000Z',
        parsed: '2020-01-31T12:00:00.000Z',
        locale: '1,234.5',
        zone: 'UTC',
        formatted: '1,234.5',
        url: '1',
        outside: ['undefined', 'undefined', 'undefined'],
      });
    });
  });
}
