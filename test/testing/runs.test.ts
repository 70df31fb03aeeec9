/** `perdure/testing`: runs, how they go on and why they do not. */
import { beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { ValidationError } from '../../src/sdk/index.js';
import { crashEverywhere, WorkflowFailedError } from '../../src/testing/index.js';
import { DAY, EnvironmentStage, HOUR } from './environment.fixture.js';
import { adding, countdown, failing, parent, tryingAgain } from './workflows/family/workflow.js';
import { fetchPrice } from './workflows/stepping/steps.js';
import { echo, price } from './workflows/stepping/workflow.js';
import { approval, hopeless, identified, patient } from './workflows/waiting/workflow.js';

const stage = new EnvironmentStage();
const { since } = stage;

describe('a run', () => {
  test('follows continue-as-new, and its children', async () => {
    expect(await stage.env.run(parent, 2)).toBe('the child said liftoff');
    expect(since()).toBe(3 * DAY);
    expect(await stage.env.handle('the-child').status()).toMatchObject({
      workflowType: 'countdown',
      status: 'completed',
    });
  });

  test('without an input gets null, as from a client', async () => {
    expect(await stage.env.run(echo)).toEqual({ input: null });
  });

  test('that fails says with what', async () => {
    const error = await stage.env.run(failing).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect(error).toMatchObject({
      status: 'failed',
      workflowType: 'failing',
      message: expect.stringMatching(/^workflow "failing" \(failing-\w{12}\) failed: RangeError: too far$/),
      cause: { name: 'RangeError', message: 'too far', code: 'E_FAR', cause: { message: 'the road' } },
    });
    expect((error as WorkflowFailedError).cause.stack).toContain('family/workflow.ts:');
  });

  test('that takes longer than it may has timed out', async () => {
    await expect(stage.env.run('impatient')).rejects.toMatchObject({ status: 'timed_out' });
    expect(since()).toBe(HOUR);
  });

  test('that waits for a message which nobody sends is told apart, with what it waits for', async () => {
    await expect((await stage.env.start(approval, { name: 'x' })).result()).rejects.toMatchObject({
      name: 'WorkflowStuckError',
      message: expect.stringContaining('it takes the signal approve and the update rename'),
    });
    await expect(stage.env.run(hopeless)).rejects.toThrow('nothing can make it go on');
    await expect(stage.env.run('hopelessParent')).rejects.toThrow(
      /waits for its child "hopeless".*the-hopeless-child: .*nothing can make it go on/,
    );
  });

  test('is told apart also while another one goes on for ever', async () => {
    await stage.env.start('endless');
    await expect(stage.env.run(approval, { name: 'x' })).rejects.toThrow('it takes the signal approve');
  });

  test('is known by its name and by an alias, typed by its definition', async () => {
    const run = await stage.env.start(identified);
    expectTypeOf(run.result()).resolves.toBeString();
    expect(await run.result()).toMatch(/^[0-9a-f-]{36}$/);
    expect(await stage.env.run('named')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await (await stage.env.start('named')).status()).workflowType).toBe('identified');
    await expect(stage.env.start('completelyDifferent')).rejects.toThrow(
      /unknown workflow "completelyDifferent": there is .*countdown/,
    );
    await expect(stage.env.start('identifyed')).rejects.toThrow('did you mean "identified"?');
    await expect(stage.env.start((async () => {}) as never)).rejects.toThrow('this is not a workflow');
    // @ts-expect-error: the definition says that its input is a number.
    await stage.env.start(countdown, 'two');
  });

  test('is not started with an input that does not fit, nor twice under one id', async () => {
    await expect(stage.env.start('patient', { waits: 5 })).rejects.toBeInstanceOf(ValidationError);
    await stage.env.start(approval, { name: 'x' }, { workflowId: 'A-1' });
    await expect(stage.env.start(approval, { name: 'x' }, { workflowId: 'A-1' })).rejects.toMatchObject({
      name: 'WorkflowAlreadyExistsError',
    });
    await expect(stage.env.start(approval, { name: 'x' }, { workflowID: 'A-1' } as never)).rejects.toThrow(
      'start() has an unknown option "workflowID": did you mean "workflowId"?',
    );
    expect(() => stage.env.handle('nobody')).toThrow('no workflow with id "nobody"');
  });

  test('may be several at a time', async () => {
    const results = await Promise.all([
      stage.env.run(countdown, 3),
      stage.env.run(patient, { waits: ['12 hours', '12 hours'] }),
      stage.env.run(tryingAgain),
    ]);
    expect(results).toEqual(['liftoff', expect.any(Array), 3]);
    expect((results[1] as string[])[2]).toBe('2026-01-02T00:00:00.000Z');
    expect(since()).toBe(4 * DAY);
  });
});

describe('a run that has been continued as new', () => {
  const budget = { amount: 1, currency: 'USD' };
  let run: Awaited<ReturnType<typeof start>>;
  const start = () => stage.env.start(countdown, 5, { budget });
  beforeEach(async () => {
    run = await start();
    await stage.env.advance('60 hours');
  });

  test('is the latest, in all that is asked of it', async () => {
    const { runId } = stage.env.handle(run.workflowId);
    expect(runId).not.toBe(run.runId);
    expect(await run.status()).toMatchObject({ runId, status: 'running' });
    expect((await run.why()).runId).toBe(runId);
    const [first] = await run.history();
    expect(first!.workflowExecutionStartedEventAttributes).toMatchObject({ originalExecutionRunId: runId });
    expect((await run.cost()).budget).toMatchObject({ amount: '1' });
  });

  test('is stopped', async () => {
    await run.stop();
    await expect(run.result()).rejects.toMatchObject({ status: 'cancelled' });
    expect(since()).toBe(60 * HOUR);
  });

  test('is terminated', async () => {
    await run.terminate('enough');
    await expect(run.result()).rejects.toMatchObject({ status: 'terminated', cause: { message: 'enough' } });
  });

  test('gets another budget', async () => {
    expect(await run.setBudget(2)).toMatchObject({ amount: '2' });
  });

  test('is paused and resumed', async () => {
    await run.pause({ reason: 'a look at it' });
    expect(await run.status()).toMatchObject({
      status: 'running',
      paused: { reason: 'a look at it', by: 'operator' },
    });
    await expect(run.result()).rejects.toThrow(/paused/);
    await run.resume();
    expect(await run.result()).toBe('liftoff');
  });

  test('is reset', async () => {
    await run.reset({ toStart: true });
    const { runId } = await run.status();
    await expect(run.result()).resolves.toBe('liftoff');
    // From the beginning of the third run, of six.
    expect(since()).toBe(60 * HOUR + 4 * DAY);
    expect(runId).not.toBe((await run.status()).runId);
  });

  test('is left alone by who speaks of one run of it', async () => {
    const first = stage.env.handle(run.workflowId, run.runId);
    expect(await first.status()).toMatchObject({ runId: run.runId, status: 'continued_as_new' });
    await first.stop();
    await expect(first.terminate()).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
    await expect(first.setBudget(2)).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
    expect(await run.result()).toBe('liftoff');
  });

  test('has answered an update, whatever went wrong meanwhile', async () => {
    await crashEverywhere(stage.env, async (inner) => {
      const sums = await inner.start(adding, 0);
      const answers = [await sums.update('add', 1), await sums.update('add', 2)];
      return { answers, result: await sums.result() };
    });
  }, 60_000);
});

describe('why', () => {
  test('says what a run waits for', async () => {
    const waiting = await stage.env.start(approval, { name: 'x' });
    expect(await waiting.why()).toEqual({
      workflowId: waiting.workflowId,
      runId: waiting.runId,
      status: 'running',
      summary: 'It waits for a message; it takes the signal approve and the update rename.',
      isStuck: true,
      since: '2026-01-01T00:00:00.000Z',
      reasons: [
        {
          code: 'message',
          message: 'It waits for a message; it takes the signal approve and the update rename.',
          action: `Send it what it waits for, such as POST /workflow/${waiting.workflowId}/signal/approve`,
          signals: ['approve'],
          updates: ['rename'],
        },
      ],
      asOf: '2026-01-01T00:00:00.000Z',
    });
    const timed = await stage.env.start(approval, { name: 'x', within: '3 days' });
    expect(await timed.why()).toMatchObject({
      isStuck: false,
      reasons: [{ code: 'timer', firesAt: '2026-01-04T00:00:00.000Z' }],
    });
    const family = await stage.env.start(parent, 1);
    expect(await family.why()).toMatchObject({
      isStuck: false,
      reasons: [{ code: 'child', workflowId: 'the-child', workflowType: 'countdown', status: 'running' }],
    });
  });

  test('says of a step that it is running, and when it is tried again', async () => {
    let fail!: (error: Error) => void;
    stage.env.mock(
      fetchPrice,
      () =>
        new Promise<never>((_, reject) => {
          fail = reject;
        }),
    );
    const run = await stage.env.start(price, 'tea');
    expect(await run.why()).toMatchObject({
      isStuck: false,
      summary: 'Step "fetchPrice" is running.',
      reasons: [
        {
          code: 'stepRunning',
          stepName: 'fetchPrice',
          activityId: '1',
          attempt: 1,
          startedAt: '2026-01-01T00:00:00.000Z',
          timeoutAt: '2026-01-01T00:01:00.000Z',
          lastHeartbeatAt: null,
          worker: 'the test',
        },
      ],
    });
    fail(new TypeError('no answer'));
    await stage.env.advance(0);
    expect(await run.why()).toMatchObject({
      isStuck: false,
      reasons: [
        {
          code: 'stepBackingOff',
          attempt: 2,
          maximumAttempts: 3,
          nextAttemptAt: '2026-01-01T00:00:10.000Z',
          lastError: { name: 'TypeError', message: 'no answer' },
        },
      ],
    });
  });

  test('says of a closed run how it ended', async () => {
    const run = await stage.env.start(failing);
    expect(await run.why()).toMatchObject({
      status: 'failed',
      isStuck: false,
      summary: 'It has failed: too far.',
      reasons: [{ code: 'closed', status: 'failed', error: { name: 'RangeError', code: 'E_FAR' } }],
    });
  });
});
