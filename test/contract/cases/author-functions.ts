import { describe, expect, test } from 'vitest';
import { Counterpart } from '../counterpart.js';
import type { Stage } from '../stage.js';

export function authorFunctionCases(stage: Stage): void {
  describe('executeInParallel', () => {
    test('answers in the order of the jobs, failed ones included', async () => {
      expect(await stage.run('someJobsFail', stage.place())).toEqual({
        results: [
          { ok: true, result: 'first', index: 0 },
          { ok: false, error: 'attempt 1 failed', index: 1 },
          { ok: false, error: 'no step at all', index: 2 },
          { ok: true, result: 'plain', index: 3 },
        ],
        completed: [0, 1, 2, 3],
      });
    });

    test('runs as many jobs at a time as it may, and no more', async () => {
      const place = stage.place();
      const run = await stage.start('limitedJobs', { ...place, concurrency: 2, count: 5 });
      await stage.ledger.until(place.key, 'started', 2);
      expect(await run.eventsOf('ACTIVITY_TASK_SCHEDULED')).toHaveLength(2);
      stage.ledger.release(place.key);
      expect(await run.result()).toEqual({ most: 2, results: [0, 1, 2, 3, 4] });
    });

    test('nothing to do is done', async () => {
      expect(await stage.run('noJobs')).toEqual([]);
    });
  });

  describe('HTTP helpers', () => {
    test('a request is sent by a step and its answer comes back', async () => {
      const counterpart = await Counterpart.start();
      try {
        const run = await stage.start('sendsRequest', {
          url: counterpart.url('/created'),
          method: 'POST',
          payload: { a: 1 },
          headers: { 'x-custom': 'yes' },
        });
        const result = (await run.result()) as { value: { status: number; body: unknown } };
        expect(result.value).toMatchObject({ status: 201, body: { echoed: '{"a":1}' } });
        expect(counterpart.received).toHaveLength(1);
        expect(counterpart.received[0]).toMatchObject({
          method: 'POST',
          path: '/created',
          body: '{"a":1}',
          headers: { 'content-type': expect.stringContaining('application/json'), 'x-custom': 'yes' },
        });
        expect(await run.eventsOf('ACTIVITY_TASK_COMPLETED')).toHaveLength(1);
      } finally {
        await counterpart.stop();
      }
    });

    test('a request is a GET unless it says otherwise', async () => {
      const counterpart = await Counterpart.start();
      try {
        const result = (await stage.run('sendsRequest', { url: counterpart.url('/text') })) as {
          value: { status: number; body: unknown };
        };
        expect(result.value).toMatchObject({ status: 200, body: 'just text' });
        expect(counterpart.received).toMatchObject([{ method: 'GET', path: '/text', body: '' }]);
      } finally {
        await counterpart.stop();
      }
    });

    test('a request to an address that is not allowed fails at once, and names the option', async () => {
      const run = await stage.start('sendsRequest', { url: 'http://127.0.0.2:9/' });
      const { error } = (await run.result()) as { error: { name: string; message: string } };
      expect(error.name).toBe('BlockedAddressError');
      expect(error.message).toContain('--allow-private-addresses');
      expect(await run.eventsOf('ACTIVITY_TASK_STARTED')).toMatchObject([{ attributes: { attempt: 1 } }]);
    });

    test('a webhook: the request carries the workflow id, and feedback resumes the workflow', async () => {
      const counterpart = await Counterpart.start();
      try {
        const run = await stage.start('awaitsWebhook', counterpart.url('/hook'));
        await run.until('ACTIVITY_TASK_COMPLETED');
        expect(counterpart.received).toHaveLength(1);
        expect(JSON.parse(counterpart.received[0]!.body)).toEqual({
          workflowId: run.workflowId,
          payload: { ask: 'please' },
          callbackId: expect.any(String),
          callbackUrl: expect.stringMatching(/^http:\/\/[^/]+\/callback\/[\w-]+\.[\w-]{43}$/),
        });
        expect(counterpart.received[0]!.headers['x-from']).toBe('test');
        expect((await run.describe()).status).toBe('running');
        await run.signal('resume', { answer: 42 });
        expect(await run.result()).toEqual({ answer: 42 });
      } finally {
        await counterpart.stop();
      }
    });

    test('feedback that comes before the request has been answered is kept (SG-18)', async () => {
      const counterpart = await Counterpart.start(async ({ body }) => {
        const { workflowId } = JSON.parse(body) as { workflowId: string };
        await stage.engine.signal({ workflowId }, 'resume', ['"quick"']);
      });
      try {
        expect(await stage.run('awaitsWebhook', counterpart.url('/hook'))).toBe('quick');
      } finally {
        await counterpart.stop();
      }
    });

    test('feedback that comes before the workflow even began is kept', async () => {
      const counterpart = await Counterpart.start();
      try {
        const run = await stage.start('awaitsTwoWebhooks', counterpart.url('/hook'));
        await run.signal('resume', 'one');
        await run.signal('resume', 'two');
        expect(await run.result()).toEqual(['one', 'two']);
        expect(counterpart.received.map((each) => JSON.parse(each.body).payload)).toEqual([1, 2]);
      } finally {
        await counterpart.stop();
      }
    });
  });
}
