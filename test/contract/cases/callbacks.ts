/** Callbacks of outsiders, who have nothing but the address that a workflow gave them. */
import crypto from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callbackToken, tokenTools } from '../../../src/core/run/callback.js';
import { createServer, type HttpServer } from '../../../src/http/index.js';
import { Counterpart } from '../counterpart.js';
import type { Run, Stage } from '../stage.js';

interface Given {
  id: string;
  url: string;
}

interface Posted {
  workflowId: string;
  payload: string;
  callbackId: string;
  callbackUrl: string;
}

export function callbackCases(stage: Stage): void {
  describe('callbacks', () => {
    let door: HttpServer;
    beforeAll(async () => {
      door = createServer({ engine: stage.engine, token: 'which-no-outsider-has' });
      await door.listen({ host: '127.0.0.1', port: 0 });
    });
    afterAll(() => door.close());

    /** Whatever server an address was made for, its token is good at any. */
    async function callBack(url: string, body?: unknown): Promise<number> {
      const { pathname } = new URL(url);
      const response = await fetch(new URL(pathname, door.url), {
        method: 'POST',
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      });
      await response.body?.cancel();
      return response.status;
    }
    const given = async (run: Run) => (await run.query('given')) as Given[];

    test('each gets what was posted for it, in whatever order and however often', async () => {
      const run = await stage.start('severalCallbacks', { ...stage.place(), count: 4 });
      const callbacks = await given(run);
      expect(new Set(callbacks.map(({ id }) => id)).size).toBe(4);
      const post = (place: number) => callBack(callbacks[place]!.url, { place });
      const statuses = await Promise.all([3, 1, 0, 3, 1, 0, 3, 1, 0].map(post));
      expect(statuses).toEqual(Array(9).fill(200));
      expect(await callBack(callbacks[0]!.url, 'another')).toBe(200);
      expect(await post(2)).toBe(200);
      expect(await run.result()).toMatchObject({ answers: [0, 1, 2, 3].map((place) => ({ place })) });
      expect(await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(4);
      expect(await callBack(callbacks[0]!.url, 'late')).toBe(409);
    });

    test('one with a schema waits for what fits', async () => {
      const run = await stage.start('checkedCallback');
      const [callback] = (await given(run)) as [Given];
      for (const body of [{ cents: -1 }, 'nonsense', undefined]) {
        expect(await callBack(callback.url, body)).toBe(200);
      }
      expect((await run.describe()).status).toBe('running');
      expect(await callBack(callback.url, { cents: 5, more: 'left out' })).toBe(200);
      expect(await run.result()).toEqual({ cents: 5, currency: 'EUR' });
    });

    test('addresses that were given out stay good over a reset, and later ones are others', async () => {
      const place = stage.place();
      const run = await stage.start('severalCallbacks', { ...place, count: 2 });
      const before = await given(run);
      await run.until('ACTIVITY_TASK_COMPLETED');
      expect(await callBack(before[1]!.url, 'before the reset')).toBe(200);
      const again = await run.reset({ stepName: 'note' });
      const still = await given(again);
      expect(still.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
      expect(await callBack(before[1]!.url, 'again')).toBe(200);
      expect(await callBack(still[1]!.url, 'once more')).toBe(200);
      expect(await callBack(before[0]!.url, 'after the reset')).toBe(200);
      expect(await again.result()).toMatchObject({ answers: ['after the reset', 'before the reset'] });

      const anew = await again.reset({ toStart: true });
      const others = await given(anew);
      expect(others.map(({ id }) => id)).not.toContain(before[0]!.id);
      for (const [place, { url }] of others.entries()) expect(await callBack(url, place)).toBe(200);
      expect(await anew.result()).toMatchObject({ answers: [0, 1] });
    });

    test("one under an id of the author's is reached in whichever run of the chain makes it", async () => {
      const run = await stage.start('standingCallback', 2);
      const last = await (await run.next()).next();
      const key = (await stage.engine.callbackKey())!;
      const token = callbackToken(tokenTools(crypto, Buffer), key, {
        ...{ workflowId: run.workflowId, callbackId: 'standing', isChecked: false },
      });
      // Before the run has made it.
      expect(await callBack(`http://anywhere.test/callback/${token}`, 'early')).toBe(200);
      await last.signal('wait');
      expect(await run.result()).toBe('early');
    });

    test('one of a run that has gone on as another is refused, since nobody would get what comes', async () => {
      const run = await stage.start('passingCallback', 1);
      const [passed] = (await given(run)) as [Given];
      await run.signal('goOn');
      const next = await run.next();
      expect(await callBack(passed.url, 'too late')).toBe(409);
      const [current] = (await given(next)) as [Given];
      expect(current.id).not.toBe(passed.id);
      expect(await callBack(current.url, 'in time')).toBe(200);
      expect(await run.result()).toBe('in time');
      expect(await next.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).toHaveLength(1);
    });

    test('requests that wait at the same time never get the answers of each other', async () => {
      const counterpart = await Counterpart.start();
      try {
        const run = await stage.start('parallelWebhooks', counterpart.url('/hook'));
        await counterpart.until(3);
        const posted = counterpart.received.map(({ body }) => JSON.parse(body) as Posted);
        const of = (payload: string) => posted.find((each) => each.payload === payload)!;
        expect(posted.map(({ workflowId }) => workflowId)).toEqual(Array(3).fill(run.workflowId));
        expect(new URL(of('a').callbackUrl).pathname).toMatch(/^\/callback\//);
        const { callbackId } = of('b');
        expect(await callBack(of('c').callbackUrl, 'for c')).toBe(200);
        await stage.engine.signal(run.latest, 'perdure.callback', [JSON.stringify(callbackId), '"for b"']);
        expect(await callBack(of('a').callbackUrl, 'for a')).toBe(200);
        expect(await run.result()).toEqual(['for a', 'for b', 'for c']);
      } finally {
        await counterpart.stop();
      }
    });

    test('a token of another key is good for nothing', async () => {
      const run = await stage.start('checkedCallback');
      await given(run);
      const ref = { workflowId: run.workflowId, callbackId: 'x', isChecked: false };
      const forged = callbackToken(tokenTools(crypto, Buffer), 'another key', ref);
      expect(await callBack(`http://anywhere.test/callback/${forged}`, 1)).toBe(404);
      expect(await run.eventsOf('WORKFLOW_EXECUTION_SIGNALED')).toEqual([]);
      await run.terminate();
    });
  });
}
