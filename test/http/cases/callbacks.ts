/** POST /callback/{token}: what outsiders may do, and what they may not. */
import crypto from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { callbackToken, tokenTools } from '../../../src/core/run/callback.js';
import type { Engine } from '../../../src/engine.js';
import { type Client, expectError, latest, pinned, type Ref, type Reply, until } from '../client.js';

interface Given {
  id: string;
  url: string;
}

export function callbacks(client: () => Client, engine: () => Engine): void {
  /** As an outsider calls it: with nothing but the address. */
  const callBack = (url: string, body?: unknown): Promise<Reply> =>
    client().post(new URL(url).pathname, body === undefined ? undefined : JSON.stringify(body));

  const given = async (run: Ref): Promise<Given[]> =>
    (await client().post(`${latest(run)}/query/given`)).body as Given[];

  const outputOf = async (run: Ref) => (await client().result(run)).body.output;

  const signalsOf = async (run: Ref): Promise<number> =>
    (await client().get(`${pinned(run)}/history?pageSize=1000`)).text.match(/EXECUTION_SIGNALED"/g)?.length ??
    0;

  const started = async (input: unknown = null) => {
    const run = await client().start('callsBack', input);
    const [first, second] = (await given(run)) as [Given, Given];
    return { run, first, second };
  };

  /** Signed as the service itself does it. */
  const signed = async (workflowId: string, callbackId = 'any') => {
    const key = (await engine().callbackKey())!;
    const token = callbackToken(tokenTools(crypto, Buffer), key, {
      workflowId,
      callbackId,
      isChecked: false,
    });
    return `/callback/${token}`;
  };

  describe('POST callback', () => {
    it('answers the callback that the address was made for, and a repeat changes nothing', async () => {
      const { run, first, second } = await started();
      expect((await callBack(second.url, { ok: true })).body).toEqual(run);
      const reply = await callBack(first.url, ['for the first']);
      expect(reply.status).toBe(200);
      expect(reply.body).toEqual(run);
      expect((await callBack(first.url, 'another')).status).toBe(200);
      expect((await callBack(first.url, ['for the first'])).status).toBe(200);
      expect((await callBack(second.url, { ok: true })).status).toBe(200);
      // A repeat leaves nothing behind that an outsider could fill a history with.
      expect(await signalsOf(run)).toBe(2);
      await client().post(`${latest(run)}/signal/finish`);
      expect(await outputOf(run)).toEqual([
        { got: ['for the first'] },
        { got: { ok: true, by: 'somebody' } },
      ]);
    });

    it.each([
      ['an object', { a: [1, 'ü'] }, { got: { a: [1, 'ü'] } }],
      ['a text', 'x', { got: 'x' }],
      ['null', null, { got: null }],
      ['false', false, { got: false }],
      ['what other routes know', { payload: 1, callbackId: 'x' }, { got: { payload: 1, callbackId: 'x' } }],
      ['nothing', undefined, {}],
    ])('takes %s', async (_what, body, output) => {
      const { run, first, second } = await started();
      await callBack(first.url, body);
      await callBack(second.url, { ok: false });
      await client().post(`${latest(run)}/signal/finish`);
      expect((await outputOf(run))[0]).toEqual(output);
    });

    it('leaves out what does not fit the schema, and the workflow goes on waiting', async () => {
      const { run, first, second } = await started();
      await callBack(first.url, 1);
      for (const body of [{ ok: 'perhaps' }, 'nonsense', undefined]) {
        expect((await callBack(second.url, body)).status).toBe(200);
      }
      expect((await client().get(`${latest(run)}/status`)).body.status).toBe('running');
      await callBack(second.url, { ok: true, by: 'ada', more: 'left out' });
      await client().post(`${latest(run)}/signal/finish`);
      expect((await outputOf(run))[1]).toEqual({ got: { ok: true, by: 'ada' } });
    });

    it('is 404 for an address that nobody has made', async () => {
      const { run, first, second } = await started();
      const [claim, signature] = new URL(first.url).pathname.slice('/callback/'.length).split('.') as [
        string,
        string,
      ];
      const other = new URL(second.url).pathname.split('.')[1]!;
      const last = signature.at(-2) === 'A' ? 'B' : 'A';
      const forged = [
        `${claim}.${other}`,
        `${claim}.${signature.slice(0, -2)}${last}${signature.at(-1)}`,
        `${claim}.${signature.slice(0, -1)}`,
        `${claim}.`,
        claim,
        `.${signature}`,
        '.',
        'x',
        `${Buffer.from(JSON.stringify([run.workflowId, first.id, 1])).toString('base64url')}.${signature}`,
      ];
      for (const token of forged) {
        const reply = await client().post(`/callback/${token}`, 'forged');
        expectError(reply, 404, 'NotFoundError');
        expect(reply.headers.get('www-authenticate')).toBeNull();
      }
      expect(await signalsOf(run)).toBe(0);
    });

    it('is 404 when the workflow is not there any more, and 409 once it has ended', async () => {
      expectError(await client().post(await signed('never-started'), 1), 404, 'WorkflowNotFoundError');
      const { run, first, second } = await started();
      await callBack(first.url, 1);
      await callBack(second.url, { ok: true });
      await client().post(`${latest(run)}/signal/finish`);
      await client().result(run);
      const reply = await callBack(first.url, 1);
      expectError(reply, 409, 'WorkflowAlreadyClosedError');
      expect(reply.body).toMatchObject(run);
    });

    it('is 400, 413 and 415 for what cannot be read', async () => {
      const { first } = await started();
      const path = new URL(first.url).pathname;
      expectError(await client().post(path, '{broken'), 400, 'InvalidJsonError');
      expectError(await client().post(path, '1e400'), 400, 'ValidationError');
      expectError(
        await client().call('POST', path, { body: 'a=1', headers: { 'content-type': 'text/plain' } }),
        415,
        'UnsupportedMediaTypeError',
      );
      expectError(
        await client().post(path, JSON.stringify('x'.repeat(2 * 1024 * 1024))),
        413,
        'PayloadTooLargeError',
      );
    });

    it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('takes no %s', async (method) => {
      const { first } = await started();
      const reply = await fetch(new URL(new URL(first.url).pathname, client().url), { method });
      expect(reply.status).toBe(405);
      expect(reply.headers.get('allow')).toBe('POST');
    });

    it('reaches a workflow that declares its signals', async () => {
      const declared = await client().start('declares');
      expect((await client().post(await signed(declared.workflowId), 1)).body).toEqual(declared);
    });

    it('stays good over a reset', async () => {
      const { run, first, second } = await started('steps');
      await until(async () =>
        (await client().get(`${pinned(run)}/history?pageSize=1000`)).text.includes('ACTIVITY_TASK_COMPLETED'),
      );
      await callBack(second.url, { ok: true });
      const next = (await client().post(`${pinned(run)}/reset`, { stepName: 'first' })).body as Ref;
      // The new run makes its own addresses for the same callbacks; those that were given out lead there as well.
      expect((await given(next)).map(({ id }) => id)).toEqual([first.id, second.id]);
      expect((await callBack(first.url, 'after the reset')).body).toEqual(next);
      await client().post(`${latest(run)}/signal/finish`);
      expect(await outputOf(run)).toEqual([
        { got: 'after the reset' },
        { got: { ok: true, by: 'somebody' } },
      ]);
    });

    it("stays good over continue-as-new under an id of the author's", async () => {
      const run = await client().start('callsBackLater', 2);
      await until(async () => (await client().get(`${latest(run)}/status`)).body.runId !== run.runId);
      const url = await until(async () => {
        const reply = await client().post(`${latest(run)}/query/url`);
        return reply.status === 200 && (reply.body as string);
      });
      const { body: last } = await client().get(`${latest(run)}/status`);
      expect((await callBack(url, 'at last')).body.workflowId).toBe(run.workflowId);
      expect(await outputOf(run)).toEqual({ url, got: 'at last' });
      expect(last.runId).not.toBe(run.runId);
    });
  });

  describe('POST feedback', () => {
    it('answers the callback that it names', async () => {
      const { run, first, second } = await started();
      const feedback = (body: unknown) => client().post(`${latest(run)}/feedback`, body);
      expect((await feedback({ callbackId: second.id, payload: { ok: true } })).body).toEqual(run);
      expect((await feedback({ callbackId: first.id })).body).toEqual(run);
      expect((await feedback({ callbackId: 'unknown', payload: 1 })).status).toBe(200);
      await client().post(`${latest(run)}/signal/finish`);
      expect(await outputOf(run)).toEqual([{}, { got: { ok: true, by: 'somebody' } }]);
    });

    it('refuses what cannot be the id of a callback', async () => {
      const { run } = await started();
      for (const callbackId of ['', 'with space', 'x'.repeat(101), 5, {}]) {
        const reply = await client().post(`${latest(run)}/feedback`, { callbackId });
        expectError(reply, 400, 'ValidationError');
        expect(reply.body.issues).toMatchObject([{ path: ['callbackId'] }]);
      }
    });
  });
}
