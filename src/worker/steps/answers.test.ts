import { describe, expect, test } from 'vitest';
import { silentLog } from '../../core/log.js';
import type { FromWorker } from '../../core/task.js';
import { Outbox } from '../../link/outbox.js';
import { stepDefinition } from '../../sdk/definition.js';
import { FatalError, RetryAfterError, ValidationError } from '../../sdk/errors.js';
import { z } from '../../sdk/index.js';
import { step } from '../../sdk/step.js';
import { ATTEMPT, failureOf, runnerOf, TASK } from './one-step.fixture.js';
import { StepRunner } from './step-runner.js';

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
