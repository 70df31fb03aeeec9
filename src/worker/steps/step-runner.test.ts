import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { type Log, silentLog } from '../../core/log.js';
import type { FromWorker, StepTask } from '../../core/task.js';
import { Outbox } from '../../link/outbox.js';
import { stepDefinition } from '../../sdk/definition.js';
import { CancelledError, FatalError, RetryAfterError, ValidationError } from '../../sdk/errors.js';
import { z } from '../../sdk/index.js';
import { step } from '../../sdk/step.js';
import { type StepContext, stepContext } from '../../sdk/step-context.js';
import { StepRunner } from './step-runner.js';

type Definition = Parameters<typeof step>[0] & { inputSchema?: z.ZodType; outputSchema?: z.ZodType };

/** A runner that knows one step, and what it has sent. */
function runnerOf(definition: Partial<Definition> & { fn: (input: never) => unknown }, log: Log = silentLog) {
  const known = stepDefinition(step({ name: 'charge', ...definition } as Definition));
  const sent: FromWorker[] = [];
  let wake = () => {};
  const runner = new StepRunner({
    find: (workflowType, name) => (workflowType === 'order' && name === 'charge' ? known : undefined),
    send: (message) => {
      sent.push(message);
      wake();
    },
    log,
    payloadBytes: 1_000,
  });
  const until = async (kind: FromWorker['kind'], count = 1) => {
    for (;;) {
      const found = sent.filter((message) => message.kind === kind);
      if (found.length >= count) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const answer = async (task: Partial<StepTask> = {}) => {
    runner.run({ ...TASK, ...task });
    await runner.idle();
    expect(sent.filter(({ kind }) => kind !== 'stepHeartbeat')).toHaveLength(1);
    return sent.at(-1)!;
  };
  return { runner, sent, until, answer };
}

const TASK: StepTask = {
  kind: 'step',
  runId: 'run',
  workflowId: 'order-1',
  workflowType: 'order',
  stepName: 'charge',
  scheduledEventId: 5,
  attempt: 2,
  input: ['{"cents":3}'],
  timeoutMs: 60_000,
  idempotencyKey: 'key',
};
const ATTEMPT = { runId: 'run', scheduledEventId: 5, attempt: 2 };

const failureOf = (message: FromWorker) => {
  if (message.kind !== 'stepFailed') throw new Error(`not a failure: ${JSON.stringify(message)}`);
  return message.failure;
};

test('a step counts as begun until its answer has left, so that last words do not leave it out', async () => {
  const happened: string[] = [];
  const outbox = new Outbox<FromWorker>((messages) => happened.push(...messages.map(({ kind }) => kind)));
  const ended = new Promise<void>((resolve) => {
    const runner = new StepRunner({
      find: () => stepDefinition(step({ name: 'charge', fn: () => 1 })),
      send: (message) => outbox.add(message),
      log: silentLog,
      payloadBytes: 1_000,
      watch: {
        begin: () => 7,
        end: (ticket) => {
          happened.push(`end of ${ticket}`);
          resolve();
        },
      },
    });
    runner.run(TASK);
  });
  await ended;
  expect(happened).toEqual(['stepCompleted', 'end of 7']);
});

describe('a step', () => {
  test('gets its parsed input and answers with its parsed output', async () => {
    const { answer } = runnerOf({
      inputSchema: z.object({ cents: z.number(), currency: z.string().default('EUR') }),
      outputSchema: z.object({ ok: z.boolean() }),
      fn: (input: { currency: string }) => ({ ok: input.currency === 'EUR', more: 'dropped' }),
    } as never);
    expect(await answer()).toEqual({ kind: 'stepCompleted', result: '{"ok":true}', ...ATTEMPT });
  });

  test('may take and return nothing', async () => {
    const { answer } = runnerOf({ fn: async (input: unknown) => input });
    expect(await answer({ input: [] })).toEqual({ kind: 'stepCompleted', ...ATTEMPT });
  });

  test('that throws fails with what it threw', async () => {
    const { answer } = runnerOf({
      fn: () => {
        throw Object.assign(new RangeError('too much', { cause: new Error('the bank') }), { code: 'E1' });
      },
    });
    expect(failureOf(await answer())).toMatchObject({
      kind: 'application',
      type: 'RangeError',
      message: 'too much',
      properties: { code: 'E1' },
      cause: { message: 'the bank' },
      activityType: 'order#charge',
      attempt: 2,
    });
  });

  test.each<[string, unknown, object]>([
    ['a FatalError', new FatalError('never'), { type: 'FatalError', nonRetryable: true }],
    ['a text', 'just a text', { message: 'just a text' }],
    ['nothing', undefined, { message: 'undefined' }],
    [
      'something hostile',
      Object.defineProperty({}, 'message', {
        get() {
          throw new Error('no');
        },
      }),
      { type: 'Error' },
    ],
  ])('may throw %s', async (_name, thrown, expected) => {
    const { answer } = runnerOf({
      fn: () => {
        throw thrown;
      },
    });
    expect(failureOf(await answer())).toMatchObject(expected);
  });

  test.each<[string, { inputSchema?: z.ZodType; outputSchema?: z.ZodType }, unknown, object]>([
    [
      'an input',
      { inputSchema: z.object({ cents: z.string() }) },
      1,
      {
        type: 'ValidationError',
        nonRetryable: true,
        message: expect.stringContaining('input of step "charge"'),
      },
    ],
    [
      'an output',
      { outputSchema: z.string() },
      1,
      {
        type: 'ValidationError',
        nonRetryable: true,
        message: expect.stringContaining('output of step "charge"'),
      },
    ],
    [
      'a BigInt',
      {},
      { a: [1n] },
      {
        type: 'PayloadError',
        nonRetryable: true,
        message: expect.stringContaining('the result of step "charge".a[0] is a BigInt'),
      },
    ],
    ['not a number', {}, Number.NaN, { type: 'PayloadError' }],
    [
      'too many bytes',
      {},
      'ü'.repeat(600),
      {
        type: 'PayloadTooLargeError',
        nonRetryable: true,
        message: expect.stringContaining('takes 1202 bytes'),
      },
    ],
  ])('with %s that does not fit fails for good', async (_name, more, result, expected) => {
    const { answer } = runnerOf({ ...more, fn: async () => result } as never);
    expect(failureOf(await answer())).toMatchObject(expected);
  });

  test('that nobody knows says so, and may be tried elsewhere', async () => {
    const { runner, sent } = runnerOf({ fn: () => 1 });
    runner.run({ ...TASK, stepName: 'other' });
    const failure = failureOf(sent[0]!);
    expect(failure).toMatchObject({ type: 'StepNotRegistered', message: expect.stringContaining('"other"') });
    expect(failure.nonRetryable).toBeUndefined();
  });

  test('has a stack trace without the frames of this package', async () => {
    const { answer } = runnerOf({ inputSchema: z.string(), fn: () => 1 } as never);
    const { stackTrace } = failureOf(await answer());
    expect(stackTrace).toContain('ValidationError: input of step');
    expect(stackTrace).not.toContain('src/sdk');
  });

  test('keeps failures small', async () => {
    const { answer } = runnerOf({
      fn: () => {
        throw Object.assign(new Error('x'.repeat(10_000_000)), { body: 'y'.repeat(10_000_000) });
      },
    });
    expect(JSON.stringify(await answer()).length).toBeLessThan(100_000);
  });
});

test('a step that says when to come back is heard', async () => {
  const { answer } = runnerOf({
    fn: () => {
      throw new RetryAfterError('busy', 5_000);
    },
  });
  expect(await answer()).toMatchObject({ kind: 'stepFailed', retryAfterMs: 5_000 });
});

test('a step refuses its input only where that does not fit its schema, whatever its code throws', async () => {
  const thrown = new ValidationError('of something else', []);
  const { answer } = runnerOf({
    fn: () => {
      throw thrown;
    },
  });
  const failed = await answer();
  expect(failed.kind).toBe('stepFailed');
  expect(failed).not.toHaveProperty('refusesInput');
});

describe('stepContext()', () => {
  test('knows the step, also after awaiting and in parallel', async () => {
    const seen: string[] = [];
    const { runner } = runnerOf({
      fn: async () => {
        await sleep(1);
        const { workflowId, runId, stepName, attempt, idempotencyKey, lastHeartbeat } = stepContext();
        seen.push(
          [workflowId, runId, stepName, attempt, idempotencyKey, JSON.stringify(lastHeartbeat)].join(' '),
        );
      },
    });
    runner.run({ ...TASK, lastHeartbeat: '{"at":7}' });
    runner.run({ ...TASK, runId: 'other', workflowId: 'order-2', attempt: 1 });
    await runner.idle();
    expect(seen.sort()).toEqual(['order-1 run charge 2 key {"at":7}', 'order-2 other charge 1 key ']);
  });

  test('says aloud, once, that a cost came too late to be counted', async () => {
    const said: string[] = [];
    let late: StepContext['cost'] | undefined;
    const { answer, sent } = runnerOf(
      {
        fn: () => {
          late = stepContext().cost;
          late({ amount: '1' });
        },
      },
      { ...silentLog, warn: (_fields, message) => said.push(message) },
    );
    expect(await answer()).toMatchObject({ kind: 'stepCompleted', costs: [{ amount: '1' }] });
    expect(said).toEqual([]);
    late!({ amount: '0.5', currency: 'EUR' });
    late!({ amount: '0.5', currency: 'EUR' });
    expect(said).toEqual([
      expect.stringMatching(/"charge" said that it spent 0.5 EUR after its attempt had ended/),
    ]);
    expect(sent).toHaveLength(1);
  });

  test('logs with the names of the step', async () => {
    const lines: unknown[] = [];
    const { answer } = runnerOf(
      { fn: () => stepContext().log.info('hello', { extra: 1 }) },
      { ...silentLog, info: (fields, message) => lines.push([fields, message]) },
    );
    await answer();
    expect(lines).toEqual([
      [{ extra: 1, workflowId: 'order-1', runId: 'run', step: 'charge', attempt: 2 }, 'hello'],
    ]);
  });
});

describe('heartbeats', () => {
  const beating = (task: Partial<StepTask> = {}) => {
    let context!: StepContext;
    let end!: (error?: Error) => void;
    const started = runnerOf({
      fn: () => {
        context = stepContext();
        return new Promise<void>((resolve, reject) => {
          end = (error) => (error ? reject(error) : resolve());
        });
      },
    });
    started.runner.run({ ...TASK, ...task });
    const ready = async () => {
      while (!context) await new Promise(setImmediate);
    };
    return {
      ...started,
      ready,
      beat: (details: unknown) => context.heartbeat(details),
      end: (error?: Error) => end(error),
    };
  };
  const details = (messages: FromWorker[]) =>
    messages.map((message) => (message.kind === 'stepHeartbeat' ? message.details : message.kind));

  test('the first leaves at once, later ones are gathered, the latest wins', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { ready, beat, sent, end, runner } = beating();
      await ready();
      beat(1);
      beat(2);
      beat(3);
      expect(details(sent)).toEqual(['1']);
      vi.advanceTimersByTime(1_000);
      expect(details(sent)).toEqual(['1', '3']);
      beat(3.5);
      expect(details(sent)).toEqual(['1', '3']);
      vi.advanceTimersByTime(1_000);
      expect(details(sent)).toEqual(['1', '3', '3.5']);
      vi.advanceTimersByTime(10_000);
      expect(details(sent)).toEqual(['1', '3', '3.5']);
      beat(4);
      expect(details(sent)).toEqual(['1', '3', '3.5', '4']);
      end();
      await runner.idle();
      expect(details(sent)).toEqual(['1', '3', '3.5', '4', 'stepCompleted']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('leave at least twice within the heartbeat timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { ready, beat, sent } = beating({ heartbeatTimeoutMs: 100 });
      await ready();
      beat(1);
      beat(2);
      vi.advanceTimersByTime(50);
      expect(details(sent)).toEqual(['1', '2']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('the latest details go out before a failure, for the next attempt', async () => {
    const { ready, beat, sent, end, runner } = beating();
    await ready();
    beat(1);
    beat(2);
    end(new Error('no'));
    await runner.idle();
    expect(details(sent)).toEqual(['1', '2', 'stepFailed']);
  });

  test('details that JSON cannot carry, or too many, are refused where they are given', async () => {
    const { ready, beat, end } = beating();
    await ready();
    expect(() => beat(1n)).toThrow(/BigInt/);
    expect(() => beat('x'.repeat(2_000))).toThrow(/2002 bytes/);
    end();
  });

  test('after the end nobody hears them', async () => {
    const { ready, beat, sent, end, runner } = beating();
    await ready();
    end();
    await runner.idle();
    beat(1);
    expect(details(sent)).toEqual(['stepCompleted']);
  });
});

describe('a step that is stopped', () => {
  const untilAborted = async () => {
    const { signal } = stepContext();
    signal.throwIfAborted();
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };

  test('by cancellation answers that it was cancelled', async () => {
    const { runner, until } = runnerOf({ fn: untilAborted });
    runner.run(TASK);
    runner.stop(ATTEMPT, 'cancelled');
    expect(await until('stepCancelled')).toEqual([{ kind: 'stepCancelled', ...ATTEMPT }]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['AbortError', () => sleep(60_000, undefined, { signal: stepContext().signal })],
    ['CancelledError', () => untilAborted().catch(() => Promise.reject(new CancelledError('so be it')))],
  ])('by cancellation may say so with %s', async (_name, fn) => {
    const { runner, until } = runnerOf({ fn });
    runner.run(TASK);
    runner.stop(ATTEMPT, 'cancelled');
    await until('stepCancelled');
  });

  test('by cancellation may still complete, or fail in its own way', async () => {
    const completing = runnerOf({ fn: () => untilAborted().catch(() => 'cleaned up') });
    completing.runner.run(TASK);
    completing.runner.stop(ATTEMPT, 'cancelled');
    expect(await completing.until('stepCompleted')).toMatchObject([{ result: '"cleaned up"' }]);
    const failing = runnerOf({
      fn: () => untilAborted().catch(() => Promise.reject(new RangeError('cleanup failed'))),
    });
    failing.runner.run(TASK);
    failing.runner.stop(ATTEMPT, 'cancelled');
    expect(failureOf((await failing.until('stepFailed'))[0]!)).toMatchObject({ type: 'RangeError' });
  });

  test.each(['timedOut', 'runClosed'] as const)(
    'since it %s is aborted and not heard any more',
    async (reason) => {
      let seen: unknown;
      const { runner, sent } = runnerOf({
        fn: () =>
          untilAborted().catch((error: unknown) => {
            seen = error;
            stepContext().heartbeat(1);
            throw error;
          }),
      });
      runner.run(TASK);
      runner.stop(ATTEMPT, reason);
      await runner.idle();
      expect(seen).toMatchObject({ name: reason === 'timedOut' ? 'TimeoutError' : 'TerminatedError' });
      expect(sent).toEqual([]);
    },
  );

  test('is not heard any more, but what it has spent until then', async () => {
    const { runner, sent } = runnerOf({
      fn: () => {
        stepContext().cost({ amount: '1' });
        return untilAborted().catch(() => stepContext().cost({ amount: '2' }));
      },
    });
    runner.run(TASK);
    await new Promise(setImmediate);
    runner.stop(ATTEMPT, 'timedOut');
    await runner.idle();
    expect(sent).toMatchObject([{ kind: 'stepCosts', ...ATTEMPT, costs: [{ amount: '1' }] }]);
  });

  test('for two reasons is stopped for the first', async () => {
    const { runner, until } = runnerOf({ fn: untilAborted });
    runner.run(TASK);
    await new Promise(setImmediate);
    runner.stop(ATTEMPT, 'cancelled');
    runner.stopAll('the worker is shutting down', true);
    expect(await until('stepCancelled')).toHaveLength(1);
  });

  test('is not stopped for another attempt', async () => {
    const { runner, sent } = runnerOf({
      fn: async () => {
        await sleep(1);
        return stepContext().signal.aborted;
      },
    });
    runner.run(TASK);
    for (const reason of ['cancelled', 'timedOut', 'runClosed'] as const) {
      runner.stop({ ...ATTEMPT, attempt: 1 }, reason);
    }
    await runner.idle();
    expect(sent).toMatchObject([{ kind: 'stepCompleted', result: 'false' }]);
  });

  test('sees an abort that came before it asked for its signal', async () => {
    let go!: () => void;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { runner, until } = runnerOf({
      fn: async () => {
        await gate;
        stepContext().signal.throwIfAborted();
      },
    });
    runner.run(TASK);
    runner.stop(ATTEMPT, 'cancelled');
    go();
    await until('stepCancelled');
  });

  test('at its own deadline is aborted even when the engine says nothing', async () => {
    const { runner, sent } = runnerOf({ fn: untilAborted });
    runner.run({ ...TASK, timeoutMs: 1_000 });
    runner.stopOverdue(performance.now() + 500);
    expect(runner.running).toBe(1);
    runner.stopOverdue(performance.now() + 1_500);
    await runner.idle();
    expect(sent).toEqual([]);
  });

  test('by a lost connection is aborted and forgotten, by a shutdown its answer counts', async () => {
    const lost = runnerOf({ fn: untilAborted });
    lost.runner.run(TASK);
    lost.runner.stopAll('the worker has lost its server', false);
    expect(lost.runner.running).toBe(0);
    const ending = runnerOf({ fn: untilAborted });
    ending.runner.run(TASK);
    ending.runner.stopAll('the worker is shutting down', true);
    expect(failureOf((await ending.until('stepFailed'))[0]!)).toMatchObject({
      type: 'WorkerStoppedError',
      message: 'the worker is shutting down',
    });
    expect(lost.sent).toEqual([]);
  });

  test('and tried again: the end of the older attempt leaves the newer one under way', async () => {
    const { runner, until } = runnerOf({ fn: untilAborted });
    runner.run(TASK);
    runner.run({ ...TASK, attempt: 3 });
    // The older one has been aborted, and comes to its end meanwhile.
    await new Promise(setImmediate);
    expect(runner.running).toBe(1);
    runner.stop({ ...ATTEMPT, attempt: 3 }, 'cancelled');
    expect(await until('stepCancelled')).toMatchObject([{ attempt: 3 }]);
  });

  test('and tried again: the older attempt is aborted and only the newer one answers', async () => {
    const { runner, sent, until } = runnerOf({
      fn: () => (stepContext().attempt === 2 ? untilAborted() : 'second'),
    });
    runner.run(TASK);
    runner.run({ ...TASK, attempt: 3 });
    await until('stepCompleted');
    await runner.idle();
    expect(sent).toMatchObject([{ kind: 'stepCompleted', attempt: 3 }]);
  });
});

describe('a step that replaces built-ins of the process', () => {
  const originals = [
    JSON.stringify,
    JSON.parse,
    Map.prototype.get,
    Array.prototype.map,
    Promise.prototype.then,
  ];
  const current = () => [
    JSON.stringify,
    JSON.parse,
    Map.prototype.get,
    Array.prototype.map,
    Promise.prototype.then,
  ];

  test.each([
    [
      'JSON.stringify',
      () => {
        JSON.stringify = () => 'evil';
      },
    ],
    [
      'JSON.parse',
      () => {
        JSON.parse = () => 'evil';
      },
    ],
    [
      'Map.prototype.get',
      () => {
        Map.prototype.get = () => undefined;
      },
    ],
    [
      'Array.prototype.map',
      () => {
        Array.prototype.map = () => [];
      },
    ],
    [
      'Promise.prototype.then',
      () => {
        Reflect.set(Promise.prototype, 'then', () => new Promise(() => {}));
      },
    ],
    [
      'Array.prototype[Symbol.iterator]',
      () => {
        Array.prototype[Symbol.iterator] = () => [].values();
      },
    ],
    [
      'Object.keys',
      () => {
        Object.keys = () => [];
      },
    ],
    [
      'Function.prototype.call',
      () => {
        Function.prototype.call = () => undefined;
      },
    ],
  ])('is answered, and so are those after it: %s', async (_, replace) => {
    const said: string[] = [];
    const log: Log = { ...silentLog, error: (_fields, message) => said.push(message) };
    for (const late of [false, true]) {
      const { answer } = runnerOf(
        {
          fn: async () => {
            if (late) await sleep(1);
            replace();
            return { list: [1, 2] };
          },
        },
        log,
      );
      expect(await answer()).toMatchObject({ kind: 'stepCompleted', result: '{"list":[1,2]}' });
      expect(current()).toEqual(originals);
    }
    expect(said).toHaveLength(2);
    expect(said[0]).toContain('have been put back');
  });

  test('while it fails is put back as well, and what is less vital a little later', async () => {
    const { answer, runner } = runnerOf({
      fn: () => {
        JSON.stringify = () => 'evil';
        Math.floor = () => 7;
        (BigInt.prototype as { toJSON?: unknown }).toJSON = () => 'kept';
        throw new Error('failed');
      },
    });
    expect(await answer()).toMatchObject({ kind: 'stepFailed', failure: { message: 'failed' } });
    runner.stopOverdue();
    expect(Math.floor(1.5)).toBe(1);
    expect(JSON.stringify({ n: 1n })).toBe('{"n":"kept"}');
    Reflect.deleteProperty(BigInt.prototype, 'toJSON');
  });

  test('may wrap timers, and gets back those that it has deleted', async () => {
    const { setTimeout: original } = globalThis;
    const wrapped = Object.assign((...args: Parameters<typeof setTimeout>) => original(...args), original);
    try {
      globalThis.setTimeout = wrapped as typeof setTimeout;
      expect(await runnerOf({ fn: async () => 1 }).answer()).toMatchObject({ kind: 'stepCompleted' });
      expect(globalThis.setTimeout).toBe(wrapped);
      globalThis.setTimeout = original;
      const deleting = runnerOf({ fn: async () => Reflect.deleteProperty(globalThis, 'setTimeout') });
      expect(await deleting.answer()).toMatchObject({ kind: 'stepCompleted', result: 'true' });
      expect(globalThis.setTimeout).toBe(original);
    } finally {
      globalThis.setTimeout = original;
    }
  });
});
