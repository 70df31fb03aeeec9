/** How a run ended, as the caller of the client hears of it. */
import { describe, expect, it, vi } from 'vitest';
import { ClientStage, NEXT, REF, RUN, rejection, result } from './client-stage.fixture.js';
import {
  CallTimeoutError,
  type ClientOptions,
  WorkflowAlreadyClosedError,
  WorkflowCancelledError,
  WorkflowContinuedAsNewError,
  WorkflowFailedError,
  WorkflowNotCompletedError,
  WorkflowTerminatedError,
  WorkflowTimedOutError,
} from './index.js';
import { type Answerer, cutOff, error, hangUp, json, silence } from './scripted-server.fixture.js';

const stage = new ClientStage();
const { client, keys, targets } = stage;

describe('run', () => {
  const order = (options: Partial<ClientOptions> = {}) => client(options).workflow('order');

  it.each([0, false, '', null, { tracking: 'x' }])('gives the output %j', async (output) => {
    stage.server.script(result('completed', { output }));
    expect(await order().run(1)).toEqual(output);
    expect(stage.server.received[0]).toMatchObject({
      target: '/workflow/run',
      body: { workflowName: 'order', input: 1, timeout: 30_000 },
    });
  });

  it('goes on waiting for the same run after its connection broke', async () => {
    stage.server.script(hangUp, cutOff('{"v":"2"'), result('completed', { output: 7 }));
    expect(await order().run(1)).toBe(7);
    expect(new Set(keys()).size).toBe(1);
    expect(targets()).toEqual(Array(3).fill('POST /workflow/run'));
  });

  it.each<[string, Answerer]>([
    ['the wait was over', error(408, 'WorkflowExecutionTimedOutError', REF)],
    ['the server stopped', error(503, 'EngineUnavailableError', REF, { 'retry-after': '5' })],
  ])('asks for the run, and starts nothing, once it knows which it is: %s', async (_what, fault) => {
    const open = error(424, 'WorkflowNotCompletedError', REF);
    stage.server.script(fault, open, hangUp, open, result('completed', { output: 7 }));
    expect(await order().run(1)).toBe(7);
    expect(targets()).toEqual(['POST /workflow/run', ...Array(4).fill('GET /workflow/w/result?wait=30000')]);
  });

  it('says which run goes on when its time is over', async () => {
    stage.server.script(error(408, 'WorkflowExecutionTimedOutError', REF), silence);
    const thrown = await rejection(order().run(1, { timeoutMs: 300 }), CallTimeoutError);
    expect(thrown).toMatchObject({ name: 'CallTimeoutError', workflowId: 'w', runId: RUN });
    // The server was asked to answer before that, since only it knows.
    expect((stage.server.received[0]!.body as { timeout: number }).timeout).toBe(270);
  });

  it.each([
    ['failed', WorkflowFailedError, 'WorkflowFailedError'],
    ['cancelled', WorkflowCancelledError, 'WorkflowCancelledError'],
    ['terminated', WorkflowTerminatedError, 'WorkflowTerminatedError'],
    ['timed_out', WorkflowTimedOutError, 'WorkflowTimedOutError'],
    ['continued_as_new', WorkflowContinuedAsNewError, 'WorkflowContinuedAsNewError'],
  ] as const)('throws what became of a run that %s', async (status, type, name) => {
    stage.server.script(result(status, { error: { name: 'CardError', message: 'declined', code: 51 } }));
    const thrown = await rejection(order().run(1), type);
    expect(thrown).toMatchObject({
      name,
      status,
      ...REF,
      error: { name: 'CardError', message: 'declined', code: 51 },
    });
    expect(thrown.message).toMatch(/^w .*: declined$/);
  });

  it('gives the causes as a chain of errors with their own properties', async () => {
    const error = {
      name: 'StepError',
      message: 'charge failed',
      activityType: 'order#charge',
      cause: {
        name: 'CardError',
        message: 'declined',
        code: 51,
        cause: { name: 'Error', message: 'no funds' },
      },
    };
    stage.server.script(result('failed', { error }));
    const thrown = await rejection(order().run(1), WorkflowFailedError);
    const step = thrown.cause as Error & { activityType: string };
    expect([step.name, step.message, step.activityType]).toEqual([
      'StepError',
      'charge failed',
      'order#charge',
    ]);
    const card = step.cause as Error & { code: number };
    expect([card.name, card.message, card.code]).toEqual(['CardError', 'declined', 51]);
    expect((card.cause as Error).message).toBe('no funds');
  });

  it('reads the legacy form of a result', async () => {
    const legacy = { ...REF, input: 1, trace: null };
    stage.server.script(
      json(200, { ...legacy, status: 'completed', output: 5, error: null, errorDetails: null }),
    );
    expect(await order().run(1)).toBe(5);
    const cause = { name: 'CardError', message: 'declined' };
    const errorDetails = {
      message: 'm',
      name: 'StepError',
      retryable: true,
      activityId: 'order#charge',
      cause,
    };
    stage.server.script(
      json(200, { ...legacy, status: 'failed', output: null, error: 'charge failed', errorDetails }),
    );
    await order().run(1);
    const thrown = await rejection(order().run(1), WorkflowFailedError);
    expect(thrown.error).toEqual({
      name: 'StepError',
      message: 'charge failed',
      activityType: 'order#charge',
      cause,
    });
  });
});

describe('result and outcome', () => {
  it('wait until the run has ended', async () => {
    const open = error(424, 'WorkflowNotCompletedError', REF);
    stage.server.script(open, open, result('completed', { output: 1 }));
    expect(await client().handle('w').result()).toBe(1);
    expect(targets()).toEqual(Array(3).fill('GET /workflow/w/result?wait=30000'));
  });

  it('wait as long as they may', async () => {
    stage.server.script(error(424, 'WorkflowNotCompletedError', REF));
    await rejection(client().handle('w', RUN).outcome({ waitMs: 0 }), WorkflowNotCompletedError);
    expect(targets()).toEqual([`GET /workflow/w/runs/${RUN}/result`]);
    stage.server.received.length = 0;
    await rejection(client().handle('w').result({ waitMs: 50 }), WorkflowNotCompletedError);
    expect(Number(stage.server.received[0]!.target.split('wait=')[1])).toBeLessThanOrEqual(50);
  });

  it('do not rush a server that answers before the time, as one that stops does', async () => {
    const pauses = vi.spyOn(globalThis, 'setTimeout');
    stage.server.script(error(424, 'WorkflowNotCompletedError', REF), result('completed'));
    await client({ answerWithinMs: Number.POSITIVE_INFINITY }).handle('w').outcome();
    const asked = pauses.mock.calls.map(([, ms]) => ms);
    vi.restoreAllMocks();
    expect(asked).toContain(250);
  });

  it('give the whole body, of a failure too', async () => {
    stage.server.script(result('failed', { error: { name: 'Error', message: 'no' } }));
    expect(await client().handle('w').outcome()).toMatchObject({
      v: '2',
      status: 'failed',
      error: { message: 'no' },
    });
  });
});

describe('stop and terminate', () => {
  const status = (runId: string, status = 'running'): Answerer =>
    json(200, { workflowId: 'w', runId, status });
  const stopped = (runId: string, status = 'running'): Answerer =>
    json(200, { workflowId: 'w', runId, status });

  it('act on one run, by its id, so that a repeat cannot hit another', async () => {
    stage.server.script(status(RUN), hangUp, stopped(RUN));
    expect(await client().handle('w').stop()).toMatchObject(REF);
    const path = `PATCH /workflow/w/runs/${RUN}/stop`;
    expect(targets()).toEqual(['GET /workflow/w/status', path, path]);
  });

  it('go after a run that was continued as new in between', async () => {
    stage.server.script(status(RUN), stopped(RUN, 'continued_as_new'), status(NEXT), stopped(NEXT));
    expect(await client().handle('w').stop()).toMatchObject({ runId: NEXT });
    stage.server.received.length = 0;
    stage.server.script(
      status(RUN),
      error(409, 'WorkflowAlreadyClosedError'),
      status(RUN, 'continued_as_new'),
    );
    stage.server.script(status(NEXT), json(200, { workflowId: 'w', runId: NEXT, terminated: true }));
    // The last answer of the first script stands in front.
    await client().handle('w').status();
    expect(await client().handle('w').terminate({ reason: 'enough' })).toMatchObject({ runId: NEXT });
    expect(stage.server.received.at(-1)).toMatchObject({ body: { reason: 'enough' } });
  });

  it('end where a run says that it was continued as new, and there is no other', async () => {
    stage.server.script(
      ...Array(2)
        .fill([status(RUN), stopped(RUN, 'continued_as_new')])
        .flat(),
    );
    expect(await client().handle('w').stop({ timeoutMs: 5_000 })).toMatchObject({
      status: 'continued_as_new',
    });
    expect(stage.server.received).toHaveLength(4);
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);
    const gone = status(RUN, 'continued_as_new');
    stage.server.script(...Array(2).fill([gone, closed, gone]).flat());
    await client().handle('w').status();
    await rejection(client().handle('w').terminate({ timeoutMs: 5_000 }), WorkflowAlreadyClosedError);
  });

  it('leave a handle that is bound with its own run', async () => {
    stage.server.script(stopped(RUN, 'continued_as_new'));
    expect(await client().handle('w', RUN).stop()).toMatchObject({ status: 'continued_as_new' });
    expect(stage.server.received).toHaveLength(1);
  });

  it('take a run for terminated whose answer got lost', async () => {
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);
    const away = error(503, 'EngineUnavailableError', {}, { 'retry-after': '0' });
    stage.server.script(hangUp, closed, status(RUN, 'terminated'), away, closed, status(RUN, 'terminated'));
    for (let call = 1; call <= 2; call++)
      expect(await client().handle('w', RUN).terminate()).toEqual({ ...REF, terminated: true });
  });

  it('say that a run was closed before', async () => {
    const closed = error(409, 'WorkflowAlreadyClosedError', REF);
    stage.server.script(closed, status(RUN, 'terminated'));
    await rejection(client().handle('w', RUN).terminate(), WorkflowAlreadyClosedError);
    stage.server.script(hangUp, closed, status(RUN, 'completed'));
    await client().handle('w').status();
    await rejection(client().handle('w', RUN).terminate(), WorkflowAlreadyClosedError);
  });

  it('resets to a step or to the start, and gives the new run', async () => {
    stage.server.script(json(200, { workflowId: 'w', runId: NEXT }));
    const handle = await client()
      .handle('w', RUN)
      .reset({ stepName: 'charge', occurrence: 2, reason: 'again' });
    expect(handle).toMatchObject({ workflowId: 'w', runId: undefined, startedRunId: NEXT });
    await client().handle('w', RUN).reset({ toStart: true });
    expect(stage.server.received.map(({ body }) => body)).toEqual([
      { stepName: 'charge', occurrence: 2, reason: 'again' },
      { toStart: true },
    ]);
  });
});
