/** Feedback, signal, query and update. */
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, type Ref } from '../client.js';

export function messages(client: () => Client): void {
  const signal = (run: Ref, name: string, body?: unknown) =>
    client().post(`${latest(run)}/signal/${encodeURIComponent(name)}`, body);
  const query = (run: Ref, name: string, body?: unknown) =>
    client().post(`${latest(run)}/query/${encodeURIComponent(name)}`, body);
  const update = (run: Ref, name: string, body?: unknown) =>
    client().post(`${latest(run)}/update/${encodeURIComponent(name)}`, body);

  /** What a handler gets for each way to write the body. */
  const wrappers: [string, unknown, unknown[]][] = [
    ['an object', { payload: { a: [1, 'ü'] } }, [{ a: [1, 'ü'] }]],
    ['null', { payload: null }, [null]],
    ['zero', { payload: 0 }, [0]],
    ['a text', { payload: 'x' }, ['x']],
    ['an array', { payload: [1, 2] }, [[1, 2]]],
    ['an empty wrapper', {}, []],
    ['a body of null', 'null', []],
    ['no body', undefined, []],
  ];

  describe('POST signal', () => {
    it('delivers what it is given, in order', async () => {
      const run = await client().start('collects');
      for (const [, body] of wrappers) expect((await signal(run, 'add', body)).body).toEqual(run);
      await signal(run, 'finish');
      expect((await client().result(run)).body.output).toEqual(wrappers.map(([, , args]) => args));
    });

    it('keeps a signal that nobody handles yet, under any name', async () => {
      const run = await client().start('collects');
      expect((await signal(run, 'später / 🦊')).status).toBe(200);
      expect((await client().get(`${latest(run)}/status`)).body.status).toBe('running');
    });

    it('is 404 for a name that the definition does not declare', async () => {
      const run = await client().start('declares');
      expectError(await signal(run, 'other'), 404, 'HandlerNotFoundError');
      expect((await signal(run, 'poke', { payload: { how: 'gently' } })).status).toBe(200);
      await signal(run, 'finish');
      expect((await client().result(run)).body.output).toEqual(['gently']);
    });

    it('is 400 for a payload that does not fit the declared schema, which is not delivered', async () => {
      const run = await client().start('declares');
      const reply = await signal(run, 'poke', { payload: { how: 1 } });
      expectError(reply, 400, 'ValidationError');
      expect(reply.body.issues).toEqual([
        { path: ['payload', 'how'], message: expect.any(String), code: 'type' },
      ]);
      expectError(await signal(run, 'poke'), 400, 'ValidationError');
      await signal(run, 'finish');
      expect((await client().result(run)).body.output).toEqual([]);
    });

    it('is 409 on a closed run, whatever the payload', async () => {
      const run = await client().start('declares');
      await signal(run, 'finish');
      await client().result(run);
      const reply = await signal(run, 'poke', { payload: 1 });
      expectError(reply, 409, 'WorkflowAlreadyClosedError');
      expect(reply.body).toMatchObject(run);
    });

    it('goes to the latest run', async () => {
      const first = await client().start('threeSteps', 'wait');
      const events = () => client().get(`${pinned(first)}/history?pageSize=1000`);
      while (((await events()).text.match(/ACTIVITY_TASK_COMPLETED/g) ?? []).length < 3);
      const next = (await client().post(`${pinned(first)}/reset`, { stepName: 'first' })).body as Ref;
      expect((await signal(first, 'finish')).body).toEqual(next);
    });
  });

  describe('POST feedback', () => {
    it.each(wrappers)('resumes the workflow with %s', async (_what, body, args) => {
      const run = await client().start('awaitsFeedback');
      expect((await client().post(`${latest(run)}/feedback`, body)).body).toEqual(run);
      expect((await client().result(run)).body.output).toEqual(args);
    });

    it('is allowed where signals are declared, and 409 on a closed run', async () => {
      const declared = await client().start('declares');
      expect((await client().post(`${latest(declared)}/feedback`)).status).toBe(200);
      const closed = await client().ended('echo');
      expectError(await client().post(`${latest(closed)}/feedback`), 409, 'WorkflowAlreadyClosedError');
    });
  });

  describe('POST query', () => {
    it.each(wrappers)('calls the handler with %s', async (_what, body, args) => {
      const run = await client().start('collects');
      expect((await query(run, 'args', body)).body).toEqual(args);
    });

    it('sees every message that was accepted before, on open and closed runs', async () => {
      const run = await client().start('collects');
      for (let count = 1; count <= 5; count++) {
        await signal(run, 'add', { payload: count });
        expect((await query(run, 'seen')).body).toHaveLength(count);
      }
      await signal(run, 'finish');
      await client().result(run);
      expect((await query(run, 'seen')).body).toEqual([[1], [2], [3], [4], [5]]);
    });

    it('says null for undefined', async () => {
      const reply = await query(await client().start('collects'), 'nothing');
      expect(reply.text).toBe('null');
      expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    });

    it('is 404 for a handler that is not there, 422 for one that throws', async () => {
      const run = await client().start('collects');
      expectError(await query(run, 'unknown'), 404, 'HandlerNotFoundError');
      // Asked by the tools of a Temporal cluster, and answered with the stacks of a worker.
      for (const name of ['__stack_trace', '__enhanced_stack_trace', '__temporal_workflow_metadata']) {
        expectError(await query(run, name), 404, 'HandlerNotFoundError');
      }
      expectError(await query(run, '__temporal_none'), 404, 'HandlerNotFoundError');
      const broken = await query(run, 'broken');
      expectError(broken, 422, 'QueryFailedError');
      expect(broken.body.message).toBe('no answer to that');
    });

    it('is 400 for a payload that does not fit the declared schema', async () => {
      const run = await client().start('declares');
      expect((await query(run, 'mood', { payload: 'short' })).body).toBe('ok');
      expectError(await query(run, 'mood', { payload: 'loud' }), 400, 'ValidationError');
    });
  });

  describe('POST update', () => {
    it.each(wrappers)('calls the handler with %s', async (_what, body, args) => {
      const run = await client().start('collects');
      expect((await update(run, 'args', body)).body).toEqual(args);
    });

    it('waits for the handler and answers with what it returns', async () => {
      const run = await client().start('collects');
      expect((await update(run, 'put', { payload: 7 })).body).toBe(1);
      expect((await update(run, 'nothing')).text).toBe('null');
      expect((await query(run, 'seen')).body).toEqual([7]);
      const hanging = update(run, 'hang');
      const accepted = async () => (await client().get(`${pinned(run)}/history?pageSize=1000`)).text;
      while (((await accepted()).match(/UPDATE_ACCEPTED/g) ?? []).length < 3);
      await signal(run, 'finish');
      expect((await hanging).status).toBe(200);
    });

    it('is 400 when its validator refuses it, with the message of the validator', async () => {
      const run = await client().start('collects');
      const reply = await update(run, 'put', { payload: 'seven' });
      expectError(reply, 400, 'UpdateRejectedError');
      expect(reply.body.message).toBe('only numbers can be put');
    });

    it('is 422 when the handler throws after acceptance', async () => {
      const run = await client().start('collects');
      const reply = await update(run, 'put', { payload: 13 });
      expectError(reply, 422, 'UpdateFailedError');
      expect(reply.body.message).toBe('thirteen brings bad luck');
    });

    it('is 404 for a handler that is not there, 409 on a closed run', async () => {
      const run = await client().start('collects');
      expectError(await update(run, 'unknown'), 404, 'HandlerNotFoundError');
      await signal(run, 'finish');
      await client().result(run);
      expectError(await update(run, 'put', { payload: 1 }), 409, 'WorkflowAlreadyClosedError');
    });

    it('is 400 for a payload that does not fit the declared schema', async () => {
      const run = await client().start('declares');
      expect((await update(run, 'rename', { payload: 'Ada' })).body).toBe('now Ada');
      expectError(await update(run, 'rename', { payload: 'A' }), 400, 'ValidationError');
    });

    it('is 429 when too many are under way', async () => {
      const run = await client().start('collects');
      const hanging = Array.from({ length: 10 }, () => update(run, 'hang'));
      for (;;) {
        const { events } = (await client().get(`${pinned(run)}/history?pageSize=1000`)).body;
        const accepted = (events as { eventType: number }[]).filter(({ eventType }) => eventType === 41);
        if (accepted.length === 10) break;
      }
      const reply = await update(run, 'put', { payload: 1 });
      expectError(reply, 429, 'TooManyRequestsError');
      expect(reply.headers.get('retry-after')).toBeTruthy();
      await signal(run, 'finish');
      for (const each of await Promise.all(hanging)) expect(each.status).toBe(200);
    });
  });

  it.each(['signal/add', 'query/args', 'update/args', 'feedback'])(
    'POST %s refuses a body that is not the wrapper, such as an event posted as it is',
    async (what) => {
      const run = await client().start('collects');
      const event = { type: 'payment.succeeded', data: { id: 'p1' } };
      for (const [body, keys] of [
        [event, ['type', 'data']],
        [{ payload: 1, colour: 'red' }, ['colour']],
        [{ Payload: 1 }, ['Payload']],
      ] as const) {
        const reply = await client().post(`${latest(run)}/${what}`, body);
        expectError(reply, 400, 'ValidationError');
        expect(reply.body.issues.map(({ path }: { path: string[] }) => path)).toEqual(
          keys.map((key) => [key]),
        );
      }
      const { issues } = (await client().post(`${latest(run)}/${what}`, { payloads: 1 })).body;
      expect(issues[0].message).toBe('unknown field "payloads": did you mean "payload"?');
      expect((await query(run, 'seen')).body).toEqual([]);
    },
  );

  it('declared payloads reach handlers as their schemas read them', async () => {
    const run = await client().start('parses');
    expect((await signal(run, 'note', { payload: { text: '  x ' } })).status).toBe(200);
    expect((await signal(run, 'note', { payload: { text: 'long', times: 2, more: 1 } })).status).toBe(200);
    // What only the code knows is not told at the door, and does not end the run.
    expect((await signal(run, 'note', { payload: { text: 'odd', times: 13 } })).status).toBe(200);
    expect((await query(run, 'times', { payload: {} })).body).toBe(1);
    expect((await update(run, 'put', { payload: { text: ' y' } })).body).toEqual({ text: 'y', times: 1 });
    expectError(await update(run, 'put', { payload: { text: 'z', times: 13 } }), 400, 'UpdateRejectedError');
    expectError(await query(run, 'times', { payload: { times: 13 } }), 422, 'QueryFailedError');
    await signal(run, 'finish');
    expect((await client().result(run)).body.output).toEqual([
      { text: 'x', times: 1 },
      { text: 'long', times: 2 },
      { text: 'y', times: 1 },
    ]);
  });

  it.each(['signal', 'query', 'update'])('POST %s refuses what cannot be a message', async (kind) => {
    const run = await client().start('collects');
    for (const body of ['[]', '"x"', '7']) {
      expectError(await client().post(`${latest(run)}/${kind}/add`, body), 400, 'ValidationError');
    }
    const names = ['%00', '%0A', 'x'.repeat(201), '%ED%A0%80'];
    for (const name of names) {
      expectError(await client().post(`${latest(run)}/${kind}/${name}`), 400, 'ValidationError');
    }
    expectError(await client().post(`/workflow/catalog/${kind}/x`), 400, 'ValidationError');
  });

  it('POST feedback refuses what cannot be a message', async () => {
    const run = await client().start('collects');
    expectError(await client().post(`${latest(run)}/feedback`, '[]'), 400, 'ValidationError');
  });
}
