/** `perdure/testing`: the environment and its runs. */
import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import { FatalError, stepContext, ValidationError } from '../../src/sdk/index.js';
import {
  crashEverywhere,
  createTestEnvironment,
  type TestEnvironment,
  WorkflowFailedError,
} from '../../src/testing/index.js';
import { spentMs } from '../cpu-time.js';
import { adding, countdown, failing, parent, tryingAgain } from './workflows/family/workflow.js';
import { fetchPrice, note, takesTime } from './workflows/stepping/steps.js';
import {
  cleaning,
  identity,
  ownStep,
  parallelNotes,
  price,
  twoNotes,
  working,
} from './workflows/stepping/workflow.js';
import { approval, calledBack, hopeless, identified, patient, year } from './workflows/waiting/workflow.js';

const workflows = fileURLToPath(new URL('workflows', import.meta.url));
const START = Date.parse('2026-01-01T00:00:00.000Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Of the processor, many times what a year takes: with code that nobody has run before, or while coverage is taken. */
const SECONDS = 5_000;

let env: TestEnvironment;
beforeEach(async () => {
  env = await createTestEnvironment({ workflows, startTime: START });
});
afterEach(() => env.close());

const since = () => env.now().getTime() - START;

describe('time', () => {
  test('jumps over what a run waits for, to the millisecond', async () => {
    expect(await env.run(patient, { waits: ['30 days', '1ms', '1 year'] })).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-01-31T00:00:00.000Z',
      '2026-01-31T00:00:00.001Z',
      '2027-01-31T06:00:00.001Z',
    ]);
    expect(env.now().toISOString()).toBe('2027-01-31T06:00:00.001Z');
  });

  test('a hundred steps and a year', async () => {
    env.mock(note, async (text) => Number(text));
    const before = process.cpuUsage();
    expect(await env.run(year)).toBe(99);
    expect(since()).toBe(365 * DAY);
    expect(spentMs(before)).toBeLessThan(SECONDS);
  });

  test('stands still unless somebody moves it', async () => {
    const run = await env.start(patient, { waits: ['1s'] });
    await run.status();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(since()).toBe(0);
    expect(await run.status()).toMatchObject({ status: 'running', startedAt: START });
  });

  test('advance: what is due until then has happened, and nothing else', async () => {
    const run = await env.start(patient, { waits: ['1 hour', '1 hour', '1 hour'] });
    await env.advance('2 hours');
    expect(since()).toBe(2 * HOUR);
    const fired = (await run.history()).filter(({ eventTypeName }) => eventTypeName === 'TIMER_FIRED');
    expect(fired.map(({ eventTime }) => eventTime)).toEqual([
      '2026-01-01T01:00:00.000Z',
      '2026-01-01T02:00:00.000Z',
    ]);
    await env.advance(HOUR - 1);
    expect(await run.status()).toMatchObject({ status: 'running' });
    await env.advance(1);
    expect(await run.status()).toMatchObject({ status: 'completed', completedAt: START + 3 * HOUR });
  });

  test('advance: what becomes due on the way does so in its order, over all runs', async () => {
    const order: string[] = [];
    env.mock(note, async (text) => order.push(`${text} at ${since() / HOUR}`));
    await env.start(year, undefined, { workflowId: 'a' });
    await env.advance('12 hours');
    await env.start(year, undefined, { workflowId: 'b' });
    await env.advance('8 days');
    expect(order).toEqual(['0 at 0', '0 at 12', '1 at 87.6', '1 at 99.6', '2 at 175.2', '2 at 187.2']);
  });

  test('does not jump while a step takes real time', async () => {
    const run = await env.start(working, 30);
    await env.advance('1 day');
    expect(run.calls(takesTime)).toHaveLength(1);
    expect(await run.status()).toMatchObject({ status: 'running' });
    expect(await run.result()).toBe(30);
    expect(since()).toBeGreaterThanOrEqual(30 * DAY);
  });

  test('passes as it does outside while a step hangs, so that its timeout is met', async () => {
    let aborted = false;
    env.mock(fetchPrice, () => {
      stepContext().signal.addEventListener('abort', () => {
        aborted = true;
      });
      return new Promise<never>(() => {});
    });
    const run = await env.start(price, 'tea');
    await env.advance('1 minute', { pastRunningSteps: true });
    expect(aborted).toBe(true);
    await env.advance('5 minutes', { pastRunningSteps: true });
    expect(run.calls(fetchPrice).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    await expect(run.result()).rejects.toMatchObject({ cause: { timeoutType: 'START_TO_CLOSE' } });
  });

  test('waits for a step that hangs, and says so', async () => {
    const lines: string[] = [];
    const log = { warn: (_: object, message: string) => lines.push(message) };
    const warned = await createTestEnvironment({ workflows, log });
    warned.mock(fetchPrice, () => new Promise<never>(() => {}));
    const result = warned.run(price, 'tea').catch((error: Error) => error.message);
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toContain('the test waits for the code of step "fetchPrice"');
    await warned.close();
    expect(await result).toBe('the test environment is closed');
  });

  test('a step may let it pass, to take long', async () => {
    env.mock(fetchPrice, async () => {
      await env.advance('50 seconds');
      return { cents: 5 };
    });
    expect(await env.run(price, 'tea')).toEqual({ cents: 5 });
    expect(since()).toBe(50_000);
    env.mock(fetchPrice, async () => {
      await env.advance('70 seconds');
      return { cents: 5 };
    });
    await expect(env.run(price, 'tea')).rejects.toThrow('startToCloseTimeout');
  });

  test('jumps over the backoff of retries, of steps and of workflows', async () => {
    let attempts = 0;
    env.mock(fetchPrice, async () => {
      if (++attempts < 3) throw new Error('try again');
      return { cents: 7 };
    });
    const run = await env.start(price, 'tea');
    expect(await run.result()).toEqual({ cents: 7 });
    expect(since()).toBe(30_000);
    expect(run.calls(fetchPrice)).toEqual(
      [1, 2, 3].map((attempt) => ({ input: { product: 'tea' }, attempt })),
    );
    expect(await env.run(tryingAgain)).toBe(3);
    expect(since()).toBe(30_000 + 2 * HOUR);
  });

  test('works with the fake timers of a test runner', async () => {
    vi.useFakeTimers();
    try {
      expect(await env.run(patient, { waits: ['1 day'] })).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('mocks', () => {
  test('stand in for the code of a step, and get what it would get', async () => {
    const inputs: unknown[] = [];
    env.mock(fetchPrice, async (input) => {
      inputs.push(input);
      return { cents: 3 };
    });
    expect(await env.run(price, 'tea')).toEqual({ cents: 3 });
    expect(inputs).toEqual([{ product: 'tea', currency: 'EUR' }]);
  });

  test('are held against the schemas of the step', async () => {
    env.mock('fetchPrice', async () => ({ cents: 'three' }));
    await expect(env.run(price, 'tea')).rejects.toThrow('output of step "fetchPrice" is invalid');
  });

  test('by name, for one workflow alone, and taken away again', async () => {
    env.mock('fetchPrice', () => ({ cents: 1 }));
    env.mock('price#fetchPrice', () => ({ cents: 2 }));
    expect(await env.run('price', 'tea')).toEqual({ cents: 2 });
    env.unmock('price#fetchPrice');
    expect(await env.run('price', 'tea')).toEqual({ cents: 1 });
    env.unmock(fetchPrice);
    await expect(env.run('price', 'tea')).rejects.toThrow('there is no shop');
    env.mock(fetchPrice, () => ({ cents: 1 }));
    env.unmock();
    await expect(env.run('price', 'tea')).rejects.toThrow('there is no shop');
  });

  test('a step that is not mocked runs for real, with its context', async () => {
    expect(await env.run(identity, undefined, { workflowId: 'me' })).toEqual({
      workflowId: 'me',
      stepName: 'whoAmI',
      hasKey: true,
    });
    expect(await env.run(ownStep, 'text')).toBe('inner text');
    env.mock('inner', (text: string) => `mocked ${text}`);
    expect(await env.run(ownStep, 'text')).toBe('mocked text');
  });

  test('leave the spies of a test runner alone', async () => {
    const spy = vi.spyOn(JSON, 'parse');
    try {
      env.mock(note, (text) => JSON.parse(`${text.length}`) as number);
      expect(await env.run(twoNotes)).toEqual([5, 6]);
      expect(spy).toHaveBeenCalledWith('6');
    } finally {
      spy.mockRestore();
    }
  });

  test('heartbeats are heard at once, by the clock of the test', async () => {
    const beats: unknown[] = [];
    env.mock('beating', async () => {
      const { heartbeat, lastHeartbeat, attempt } = stepContext();
      beats.push(lastHeartbeat);
      for (let i = 1; i <= 3; i++) {
        await env.advance('8 seconds');
        heartbeat({ attempt, i });
      }
      if (attempt === 1) await env.advance('11 seconds');
      return attempt;
    });
    expect(await env.run('beater')).toBe(2);
    expect(beats).toEqual([undefined, { attempt: 1, i: 3 }]);
  });

  test('refuse what is no step', () => {
    expect(() => env.mock('fetchPrise', () => 1)).toThrow(
      'unknown step "fetchPrise": did you mean "fetchPrice"?',
    );
    expect(() => env.mock((async () => 1) as never, () => 1)).toThrow('not a step');
    expect(() => env.mock(price as never, () => 1 as never)).toThrow('"price" is a workflow and no step');
    expect(() => env.mock(note, 5 as never)).toThrow('give a function');
  });

  test('calls are those of one workflow id', async () => {
    env.mock(note, () => 1);
    const one = await env.start(twoNotes);
    const other = await env.start(parallelNotes, ['x']);
    expect(one.calls(note)).toEqual([
      { input: 'first', attempt: 1 },
      { input: 'second', attempt: 1 },
    ]);
    expect(other.calls('note')).toEqual([{ input: 'x', attempt: 1 }]);
    expect(() => other.calls('nothing')).toThrow('unknown step "nothing"');
  });
});

describe('messages', () => {
  test('signal, query and update, and time jumps for the handler of an update', async () => {
    const run = await env.start(approval, { name: 'x' });
    expect(await run.query('stage')).toBe('waiting');
    expect(await run.update('rename', 'y')).toBe('x');
    expect(since()).toBe(HOUR);
    await run.signal('approve', { by: 'ada' });
    expect(await run.query('stage')).toBe('approved');
    expect(await run.result()).toEqual({ name: 'y', approvedBy: 'ada' });
    await expect(run.signal('approve', { by: 'bob' })).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
  });

  test('are refused as the API refuses them', async () => {
    const run = await env.start('approval', { name: 'x' });
    await expect(run.signal('approve', { by: 5 })).rejects.toThrow('payload of signal "approve"');
    await expect(run.signal('approof', { by: 'ada' })).rejects.toThrow('has no signal "approof"');
    await expect(run.signal(undefined as never)).rejects.toThrow('undefined is not a name for a signal');
    await expect(run.query('stages')).rejects.toMatchObject({ name: 'HandlerNotFoundError' });
    await expect(run.update('rename', 'x')).rejects.toThrow('that is the name already');
    await expect(run.update('rename', '')).rejects.toBeInstanceOf(ValidationError);
    await expect(run.update('rename', 'nobody')).rejects.toMatchObject({
      name: 'UpdateFailedError',
      message: 'there is no such name',
    });
  });

  test('callbacks reach the address that they are posted to', async () => {
    const run = await env.start(calledBack);
    const input = run.calls('invite')[0]!.input as { one: string; other: string };
    expect(await run.why()).toMatchObject({
      isStuck: true,
      summary: 'It waits for a message; it takes callbacks.',
    });
    await env.callback(input.other, 'second');
    await env.callback(input.other, 'a repeat');
    await env.advance('30 days');
    await env.callback(input.one, 'first');
    expect(await run.result()).toEqual(['first', 'second']);
    expect(await env.replay(await run.history())).toEqual({ ok: true });
    await expect(env.callback('https://elsewhere.test/callback/x', 1)).rejects.toThrow('is no address');
    await expect(env.callback(input.one, 'late')).rejects.toMatchObject({
      name: 'WorkflowAlreadyClosedError',
    });
  });

  test('may be sent while somebody waits for the result', async () => {
    const run = await env.start(approval, { name: 'x' });
    const result = run.result();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await run.signal('approve', { by: 'ada' });
    expect(await result).toMatchObject({ approvedBy: 'ada' });
  });

  test('stop runs the cleanup, terminate does not, and a closed run may be stopped', async () => {
    env.mock(note, () => 1);
    const stopped = await env.start(cleaning);
    await stopped.stop();
    await expect(stopped.result()).rejects.toMatchObject({
      name: 'WorkflowFailedError',
      status: 'cancelled',
      cause: { name: 'CancelledError' },
    });
    expect(stopped.calls(note)).toHaveLength(1);
    await stopped.stop();
    const terminated = await env.start(cleaning);
    await terminated.terminate('enough');
    await expect(terminated.result()).rejects.toMatchObject({
      status: 'terminated',
      cause: { message: 'enough' },
    });
    expect(terminated.calls(note)).toEqual([]);
  });

  test('reset goes on after a step, in a run of its own', async () => {
    let count = 0;
    env.mock(note, () => ++count);
    const run = await env.start(twoNotes);
    expect(await run.result()).toEqual([1, 2]);
    const again = await run.reset({ stepName: 'note', occurrence: 1 });
    expect(again.runId).not.toBe(run.runId);
    expect(await again.result()).toEqual([1, 3]);
    expect(env.handle(run.workflowId).runId).toBe(again.runId);
  });

  test('reset to the start begins anew, with the same input', async () => {
    let isAway = true;
    env.mock(fetchPrice, () => {
      if (isAway) throw new FatalError('the shop is closed');
      return { cents: 3 };
    });
    const run = await env.start(price, 'tea');
    await expect(run.result()).rejects.toThrow('the shop is closed');
    isAway = false;
    const again = await run.reset({ toStart: true, reason: 'it has opened' });
    expect(again.runId).not.toBe(run.runId);
    expect(await again.result()).toEqual({ cents: 3 });
    expect(await run.result()).toEqual({ cents: 3 });
    expect(run.calls(fetchPrice).map(({ input }) => input)).toEqual(Array(2).fill({ product: 'tea' }));
    await expect(env.handle(run.workflowId, run.runId).result()).rejects.toThrow('the shop is closed');
  });

  test('reset is refused where it does not say one point', async () => {
    env.mock(note, () => 1);
    const run = await env.start(twoNotes);
    await run.result();
    for (const wrong of [
      {},
      undefined,
      { stepName: 'note', toStart: true },
      { toStart: false },
      { stepName: '' },
    ])
      await expect(run.reset(wrong as never)).rejects.toThrow(/either stepName.*or toStart: true/);
    await expect(run.reset({ toStart: true, occurrence: 1 } as never)).rejects.toThrow(/occurrence/);
    for (const occurrence of [0, 1.5, '1'])
      await expect(run.reset({ stepName: 'note', occurrence } as never)).rejects.toThrow(/occurrence/);
    await expect(run.reset({ stepName: 'note', ocurrence: 1 } as never)).rejects.toThrow(
      /ocurrence.*occurrence/,
    );
    expect(env.handle(run.workflowId).runId).toBe(run.runId);
    expectTypeOf(run.reset).toBeCallableWith({ toStart: true, reason: 'x' });
    expectTypeOf(run.reset).toBeCallableWith({ stepName: 'note', occurrence: 2 });
    // @ts-expect-error: there are two points in it
    expectTypeOf(run.reset).toBeCallableWith({ toStart: true, stepName: 'note' });
    // @ts-expect-error: the start is there once
    expectTypeOf(run.reset).toBeCallableWith({ toStart: true, occurrence: 1 });
  });
});

describe('a run that has been continued as new', () => {
  const budget = { amount: 1, currency: 'USD' };
  let run: Awaited<ReturnType<typeof start>>;
  const start = () => env.start(countdown, 5, { budget });
  beforeEach(async () => {
    run = await start();
    await env.advance('60 hours');
  });

  test('is the latest, in all that is asked of it', async () => {
    const { runId } = env.handle(run.workflowId);
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
    const first = env.handle(run.workflowId, run.runId);
    expect(await first.status()).toMatchObject({ runId: run.runId, status: 'continued_as_new' });
    await first.stop();
    await expect(first.terminate()).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
    await expect(first.setBudget(2)).rejects.toMatchObject({ name: 'WorkflowAlreadyClosedError' });
    expect(await run.result()).toBe('liftoff');
  });

  test('has answered an update, whatever went wrong meanwhile', async () => {
    await crashEverywhere(env, async (inner) => {
      const sums = await inner.start(adding, 0);
      const answers = [await sums.update('add', 1), await sums.update('add', 2)];
      return { answers, result: await sums.result() };
    });
  }, 60_000);
});

describe('a run', () => {
  test('follows continue-as-new, and its children', async () => {
    expect(await env.run(parent, 2)).toBe('the child said liftoff');
    expect(since()).toBe(3 * DAY);
    expect(await env.handle('the-child').status()).toMatchObject({
      workflowType: 'countdown',
      status: 'completed',
    });
  });

  test('that fails says with what', async () => {
    const error = await env.run(failing).then(
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
    await expect(env.run('impatient')).rejects.toMatchObject({ status: 'timed_out' });
    expect(since()).toBe(HOUR);
  });

  test('that waits for a message which nobody sends is told apart, with what it waits for', async () => {
    await expect((await env.start(approval, { name: 'x' })).result()).rejects.toMatchObject({
      name: 'WorkflowStuckError',
      message: expect.stringContaining('it takes signals approve and updates rename'),
    });
    await expect(env.run(hopeless)).rejects.toThrow('nothing can make it go on');
    await expect(env.run('hopelessParent')).rejects.toThrow(
      /waits for its child "hopeless".*the-hopeless-child: .*nothing can make it go on/,
    );
  });

  test('is told apart also while another one goes on for ever', async () => {
    await env.start('endless');
    await expect(env.run(approval, { name: 'x' })).rejects.toThrow('it takes signals approve');
  });

  test('is known by its name and by an alias, typed by its definition', async () => {
    const run = await env.start(identified);
    expectTypeOf(run.result()).resolves.toBeString();
    expect(await run.result()).toMatch(/^[0-9a-f-]{36}$/);
    expect(await env.run('named')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await (await env.start('named')).status()).workflowType).toBe('identified');
    await expect(env.start('completelyDifferent')).rejects.toThrow(
      /unknown workflow "completelyDifferent": there is .*countdown/,
    );
    await expect(env.start('identifyed')).rejects.toThrow('did you mean "identified"?');
    await expect(env.start((async () => {}) as never)).rejects.toThrow('this is not a workflow');
    // @ts-expect-error: the definition says that its input is a number.
    await env.start(countdown, 'two');
  });

  test('is not started with an input that does not fit, nor twice under one id', async () => {
    await expect(env.start('patient', { waits: 5 })).rejects.toBeInstanceOf(ValidationError);
    await env.start(approval, { name: 'x' }, { workflowId: 'A-1' });
    await expect(env.start(approval, { name: 'x' }, { workflowId: 'A-1' })).rejects.toMatchObject({
      name: 'WorkflowAlreadyExistsError',
    });
    await expect(env.start(approval, { name: 'x' }, { workflowID: 'A-1' } as never)).rejects.toThrow(
      'start() has an unknown option "workflowID": did you mean "workflowId"?',
    );
    expect(() => env.handle('nobody')).toThrow('no workflow with id "nobody"');
  });

  test('may be several at a time', async () => {
    const results = await Promise.all([
      env.run(countdown, 3),
      env.run(patient, { waits: ['12 hours', '12 hours'] }),
      env.run(tryingAgain),
    ]);
    expect(results).toEqual(['liftoff', expect.any(Array), 3]);
    expect((results[1] as string[])[2]).toBe('2026-01-02T00:00:00.000Z');
    expect(since()).toBe(4 * DAY);
  });
});

describe('why', () => {
  test('says what a run waits for', async () => {
    const waiting = await env.start(approval, { name: 'x' });
    expect(await waiting.why()).toEqual({
      workflowId: waiting.workflowId,
      runId: waiting.runId,
      status: 'running',
      summary: 'It waits for a message; it takes signals approve and updates rename.',
      isStuck: true,
      since: '2026-01-01T00:00:00.000Z',
      reasons: [
        {
          code: 'message',
          message: 'It waits for a message; it takes signals approve and updates rename.',
          action: `Send it what it waits for, such as POST /workflow/${waiting.workflowId}/signal/approve`,
          signals: ['approve'],
          updates: ['rename'],
        },
      ],
      asOf: '2026-01-01T00:00:00.000Z',
    });
    const timed = await env.start(approval, { name: 'x', within: '3 days' });
    expect(await timed.why()).toMatchObject({
      isStuck: false,
      reasons: [{ code: 'timer', firesAt: '2026-01-04T00:00:00.000Z' }],
    });
    const family = await env.start(parent, 1);
    expect(await family.why()).toMatchObject({
      isStuck: false,
      reasons: [{ code: 'child', workflowId: 'the-child', workflowType: 'countdown', status: 'running' }],
    });
  });

  test('says of a step that it is running, and when it is tried again', async () => {
    let fail!: (error: Error) => void;
    env.mock(
      fetchPrice,
      () =>
        new Promise<never>((_, reject) => {
          fail = reject;
        }),
    );
    const run = await env.start(price, 'tea');
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
    await env.advance(0);
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
    const run = await env.start(failing);
    expect(await run.why()).toMatchObject({
      status: 'failed',
      isStuck: false,
      summary: 'It has failed: too far.',
      reasons: [{ code: 'closed', status: 'failed', error: { name: 'RangeError', code: 'E_FAR' } }],
    });
  });
});

describe('an environment', () => {
  test('refuses options that it does not have, and folders that do not load', async () => {
    await expect(createTestEnvironment({ workflows, replayEveryTurns: true } as never)).rejects.toThrow(
      'unknown option "replayEveryTurns": did you mean "replayEveryTurn"?',
    );
    await expect(createTestEnvironment({} as never)).rejects.toThrow('needs the folder');
    await expect(createTestEnvironment({ workflows: 'no/such/folder' })).rejects.toThrow('does not exist');
    await expect(createTestEnvironment({ workflows, startTime: 'noon' })).rejects.toThrow('is not a time');
    await expect(createTestEnvironment({ workflows, seed: 0.5 })).rejects.toThrow('is not a whole number');
  });

  test('makes up the same ids from the same seed', async () => {
    const others = await Promise.all(
      [1, 1, 2].map((seed) => createTestEnvironment({ workflows, startTime: START, seed })),
    );
    const [one, same, other] = await Promise.all(others.map((each) => each.run(identified)));
    await Promise.all(others.map((each) => each.close()));
    expect(same).toBe(one);
    expect(other).not.toBe(one);
  });

  test('hands on what workflows log', async () => {
    const lines: unknown[] = [];
    const logged = await createTestEnvironment({
      workflows,
      log: { info: (fields, message) => lines.push([message, fields]) },
    });
    await logged.start(approval, { name: 'x' });
    await logged.close();
    expect(lines).toEqual([
      ['waits for somebody', expect.objectContaining({ name: 'x', workflowType: 'approval' })],
    ]);
  });

  test('says so when it is closed', async () => {
    const run = await env.start(approval, { name: 'x' });
    await env.close();
    await expect(run.status()).rejects.toThrow('the test environment is closed');
    expect(() => env.handle(run.workflowId)).toThrow('the test environment is closed');
    await env.close();
  });
});

test('breakpoints in a workflow are found by its source, whatever ran it', async () => {
  const session = new Session();
  session.connect();
  const scripts: { url: string; sourceMapURL?: string }[] = [];
  session.on('Debugger.scriptParsed', ({ params }) => scripts.push(params));
  session.post('Debugger.enable');
  await env.run(patient, { waits: [] });
  session.disconnect();
  const { sourceMapURL = '' } = scripts.find(({ url }) => url === 'waiting/workflow.ts')!;
  const [, base64 = ''] = sourceMapURL.split('base64,');
  const { sources } = JSON.parse(Buffer.from(base64, 'base64').toString()) as { sources: string[] };
  expect(sources).toContain(new URL('workflows/waiting/workflow.ts', import.meta.url).href);
});
