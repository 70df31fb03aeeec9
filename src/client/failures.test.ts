/** What the caller is told when a call fails or is ended. */
import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { ClientStage, REF, RUN, rejection } from './client-stage.fixture.js';
import {
  ApiError,
  CallTimeoutError,
  type Client,
  ConnectionError,
  TooManyRequestsError,
  UnexpectedAnswerError,
  ValidationError,
  WorkflowNotFoundError,
} from './index.js';
import {
  type Answerer,
  error,
  hangUp,
  json,
  ScriptedServer,
  silence,
  stream,
} from './scripted-server.fixture.js';

const stage = new ClientStage();
const { client } = stage;

describe('errors', () => {
  it('are classes that carry what the answer says', async () => {
    const issues = [{ path: ['input', 'cents'], message: 'must be positive', code: 'minimum' }];
    stage.server.script(
      json(400, { error: 'ValidationError', message: 'Invalid Payload', issues }, { 'x-request-id': 'r-1' }),
    );
    const thrown = await rejection(client().workflow('order').start({}), ValidationError);
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ name: 'ValidationError', status: 400, issues, requestId: 'r-1' });
    expect(thrown.message).toBe('Invalid Payload: input.cents must be positive');
    stage.server.script(error(404, 'WorkflowNotFoundError', REF));
    await client()
      .workflow('order')
      .start({})
      .catch(() => {});
    expect(await rejection(client().handle('w').status(), WorkflowNotFoundError)).toMatchObject({
      status: 404,
      ...REF,
    });
  });

  it.each([302, 307])('a redirect is not followed, with a secret or without: %d', async (status) => {
    const elsewhere = (await new ScriptedServer().listen()).script(json(200, REF));
    stage.server.script((response) => {
      response.writeHead(status, { location: `${elsewhere.url}/workflow/start` }).end();
    });
    const starting = client({ token: 'secret' }).workflow('w').start(1);
    const { message } = await rejection(starting, UnexpectedAnswerError);
    expect(message).toContain(`a redirect to ${elsewhere.url}/workflow/start`);
    expect([stage.server.received.length, elsewhere.received.length]).toEqual([1, 0]);
    await elsewhere.close();
  });

  it('of names that it does not know are errors all the same', async () => {
    stage.server.script(error(418, 'TeapotError'));
    expect(await rejection(client().health(), ApiError)).toMatchObject({ name: 'TeapotError', status: 418 });
  });

  it.each<[string, Answerer]>([
    ['a page', (response) => void response.writeHead(200).end('<html>Welcome</html>')],
    ['a page that is an error', (response) => void response.writeHead(404).end('<html>Welcome</html>')],
    ['an error of somebody else', json(400, { message: 'Welcome' })],
  ])('say that something else answered: %s', async (_what, answer) => {
    stage.server.script(answer);
    const thrown = await rejection(client().health(), UnexpectedAnswerError);
    expect(thrown.message).toContain('Welcome');
    expect(thrown.message).toContain(stage.server.url);
  });

  it.each<[string, (of: Client) => Promise<unknown>, object]>([
    ['run', (of) => of.workflow('order').run(1), { status: 'ok' }],
    ['result', (of) => of.handle('w').result(), { status: 'running' }],
    ['start', (of) => of.workflow('order').start(1), { runId: RUN }],
    ['status', (of) => of.handle('w').status(), { runId: 5, status: 'running' }],
    ['history', (of) => of.handle('w').history().next(), { events: null }],
    ['runs', (of) => of.runs().next(), { runs: {} }],
    ['catalog', (of) => of.catalog(), { workflows: 'many' }],
    ['backup', (of) => of.backup(), { Welcome: 1 }],
  ])('say so of JSON that is no answer to %s, and not that a workflow failed', async (_what, call, body) => {
    stage.server.script(json(200, body));
    const thrown = await rejection(call(client()), UnexpectedAnswerError);
    expect(thrown.message).toContain(Object.keys(body)[0]);
    expect(stage.server.received).toHaveLength(1);
  });

  it('say so of no body at all, where there should be a backup', async () => {
    stage.server.script((response) => void response.writeHead(204).end());
    await rejection(client().backup(), UnexpectedAnswerError);
    expect(stage.server.received).toHaveLength(1);
  });

  it('say who did not answer', async () => {
    await stage.server.close();
    const thrown = await rejection(client({ retryForMs: 0 }).health(), ConnectionError);
    expect(thrown.message).toContain(stage.server.url);
    expect(thrown.message).toMatch(/ECONNREFUSED/);
    expect(thrown.isUnsent).toBe(true);
  });

  describe('say that nothing was sent only where that holds for every try', () => {
    /** The last that it answers; from then on it cannot be reached. */
    const last =
      (answer: Answerer): Answerer =>
      async (response, received) => {
        response.once('close', () => void stage.server.close());
        await answer(response, received);
      };
    const status = json(200, { ...REF, status: 'running' });
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);

    it.each<[string, (of: Client) => Promise<unknown>, Answerer[]]>([
      ['a start whose connection broke', (of) => of.workflow('order').start(1), [hangUp]],
      [
        'a start that a proxy refused',
        (of) => of.workflow('order').start(1),
        [error(503, 'EngineUnavailableError')],
      ],
      [
        'a signal that came too often',
        (of) => of.handle('w').signal('go'),
        [error(429, 'TooManyRequestsError')],
      ],
      [
        'a run that is there',
        (of) => of.workflow('order').run(1),
        [error(408, 'WorkflowExecutionTimedOutError', REF)],
      ],
      ['a wait that began', (of) => of.handle('w').result(), [error(424, 'WorkflowNotCompletedError', REF)]],
      [
        'a stop of a run that had gone on',
        (of) => of.handle('w').stop(),
        [status, json(200, { ...REF, status: 'continued_as_new' })],
      ],
      ['a terminate of a closed run', (of) => of.handle('w').terminate(), [status, closed]],
      [
        'a stream that broke',
        (of) => of.handle('w').history({ follow: true }).next(),
        [stream([], 'breaks')],
      ],
    ])('%s', async (_what, call, answers) => {
      stage.server.script(...answers.slice(0, -1), last(answers.at(-1)!));
      const thrown = await rejection(call(client({ retryForMs: 300 })), ConnectionError);
      expect(thrown.message).toMatch(/ECONNREFUSED/);
      expect(thrown.isUnsent).toBe(false);
    });

    it('a stop of which only the run was found', async () => {
      stage.server.script(last(status));
      const thrown = await rejection(client({ retryForMs: 300 }).handle('w').stop(), ConnectionError);
      expect(thrown.isUnsent).toBe(true);
    });
  });
});

describe('a call that is ended', () => {
  const reason = new Error('not wanted any more');

  it('throws the reason of its signal, before, during and between tries', async () => {
    await expect(client().health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(stage.server.received).toEqual([]);
    stage.server.script(silence, error(503, 'EngineUnavailableError', {}, { 'retry-after': '30' }));
    for (let call = 1; call <= 2; call++) {
      const controller = new AbortController();
      const ended = client().health({ signal: controller.signal });
      await expect.poll(() => stage.server.received.length).toBe(call);
      controller.abort(reason);
      await expect(ended).rejects.toBe(reason);
    }
  });

  it('throws when its time is over, also between tries', async () => {
    stage.server.script(silence);
    expect(await rejection(client().health({ timeoutMs: 50 }), CallTimeoutError)).toMatchObject({
      status: undefined,
    });
    stage.server.script(error(429, 'TooManyRequestsError', {}, { 'retry-after': '30' }));
    await rejection(client().health({ timeoutMs: 50 }), CallTimeoutError);
    await rejection(client({ retryForMs: 0 }).health(), TooManyRequestsError);
  });

  it('leaves no connection open, no timer running and no listener behind', async () => {
    const timers = new Set<unknown>();
    const set = vi.spyOn(globalThis, 'setTimeout');
    const clear = vi.spyOn(globalThis, 'clearTimeout');
    stage.server.script(silence);
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [
      client().health({ signal, timeoutMs: 60_000 }),
      client().handle('w').result({ signal }),
      client().handle('w').history({ follow: true, signal, timeoutMs: 60_000 }).next(),
    ];
    await expect.poll(() => stage.server.received.length).toBe(3);
    for (const { value } of set.mock.results) timers.add(value);
    expect(timers.size).toBeGreaterThanOrEqual(3);
    controller.abort(reason);
    for (const call of calls) await expect(call).rejects.toBe(reason);
    for (const [timer] of clear.mock.calls) timers.delete(timer);
    vi.restoreAllMocks();
    expect([...timers]).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // Node's fetch takes some seconds to close the connection of a call that was ended before its answer.
    await expect.poll(() => stage.server.connections()).toBe(0);
  });
});
