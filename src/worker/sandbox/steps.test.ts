import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

describe('steps', () => {
  test('run one after the other, each with what the one before gave', () => {
    const run = new ScriptedRun(({ workflow, z }, step) =>
      workflow({
        name: 'test',
        inputSchema: z.object({ n: z.number().default(1) }),
        outputSchema: z.object({ total: z.number() }),
        fn: async ({ n }) => {
          const one: number = await step('one')(n);
          const two: number = await step('two')({ one });
          return { total: two };
        },
      }),
    );
    expect(run.start({}).turn()).toMatchObject([
      { kind: 'scheduleStep', stepName: 'one', input: ['1'], activityId: '1' },
    ]);
    expect(run.completeStep('1', 2).turn()).toMatchObject([
      { kind: 'scheduleStep', stepName: 'two', input: ['{"one":2}'], activityId: '2' },
    ]);
    expect(run.completeStep('2', 3).turn()).toEqual([{ kind: 'completeRun', result: '{"total":3}' }]);
  });

  test('carry the settings of the step over those of the workflow over the defaults', () => {
    const run = new ScriptedRun(({ workflow }, step) =>
      workflow({
        name: 'test',
        options: { stepOptions: { startToCloseTimeout: '5m', retry: { maximumAttempts: 7 } } },
        fn: async () => {
          await Promise.all([
            step('plain')(),
            step('own', {
              startToCloseTimeout: '30s',
              heartbeatTimeout: 500,
              retry: { initialInterval: '2m', nonRetryableErrorTypes: ['Bad'] },
            })(),
          ]);
        },
      }),
    );
    expect(run.start().turn()).toEqual([
      {
        kind: 'scheduleStep',
        activityId: '1',
        stepName: 'plain',
        input: [],
        settings: {
          startToCloseTimeoutMs: 300_000,
          retry: {
            initialIntervalMs: 1000,
            backoffCoefficient: 2,
            maximumIntervalMs: 60_000,
            maximumAttempts: 7,
            nonRetryableErrorTypes: [],
          },
        },
      },
      {
        kind: 'scheduleStep',
        activityId: '2',
        stepName: 'own',
        input: [],
        settings: {
          startToCloseTimeoutMs: 30_000,
          heartbeatTimeoutMs: 500,
          retry: {
            initialIntervalMs: 120_000,
            backoffCoefficient: 2,
            maximumIntervalMs: 120_000,
            maximumAttempts: 7,
            nonRetryableErrorTypes: ['Bad'],
          },
        },
      },
    ]);
  });

  test('complete in any order', () => {
    const run = new ScriptedRun(({ workflow }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const order: unknown[] = [];
          await Promise.all(['a', 'b', 'c'].map((name) => step(name)().then((value) => order.push(value))));
          return order;
        },
      }),
    );
    expect(run.start().turn()).toHaveLength(3);
    expect(run.completeStep('3', 'c').completeStep('1', 'a').turn()).toEqual([]);
    expect(run.completeStep('2', 'b').turn()).toEqual([{ kind: 'completeRun', result: '["c","a","b"]' }]);
  });

  test('that fail reject with the original error, and it leaves the workflow unchanged', () => {
    const run = new ScriptedRun(({ workflow, StepError }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          try {
            await step('one')();
          } catch (error) {
            if (!(error instanceof StepError)) throw new Error('not a StepError');
            const { name, message, activityType, attempt, code, cause } = error;
            if (
              `${name} ${message} ${activityType} ${attempt} ${code}` !== 'Declined no money test#one 3 E42'
            ) {
              throw new Error(`${name} ${message} ${activityType} ${attempt} ${code}`);
            }
            if (!(cause instanceof Error) || cause.name !== 'RangeError') throw new Error('no cause');
            throw error;
          }
        },
      }),
    );
    run.start().turn();
    const failure = {
      kind: 'application',
      type: 'Declined',
      message: 'no money',
      properties: { code: 'E42', deep: { list: [1] } },
      attempt: 3,
      nonRetryable: true,
      cause: { kind: 'application', type: 'RangeError', message: 'balance' },
    } as const;
    expect(run.failStep('1', failure).turn()).toEqual([
      {
        kind: 'failRun',
        failure: {
          kind: 'step',
          type: 'Declined',
          message: 'no money',
          activityType: 'test#one',
          attempt: 3,
          nonRetryable: true,
          properties: { code: 'E42', deep: { list: [1] } },
          cause: { kind: 'application', type: 'RangeError', message: 'balance' },
        },
      },
    ]);
  });

  test('that time out reject with an error that is both a StepError and a TimeoutError', () => {
    const run = new ScriptedRun(({ workflow, StepError, TimeoutError }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const error = await step('one')().catch((thrown: unknown) => thrown);
          if (!(error instanceof StepError) || !(error instanceof TimeoutError)) return 'neither';
          if (new Error('x') instanceof TimeoutError) return 'too much';
          return [error.name, error.timeoutType];
        },
      }),
    );
    run.start().turn();
    run.append('ACTIVITY_TASK_TIMED_OUT', {
      scheduledEventId: run.find('ACTIVITY_TASK_SCHEDULED').id,
      startedEventId: 0,
      failure: { kind: 'timeout', type: 'TimeoutError', message: 'too slow', timeoutType: 'START_TO_CLOSE' },
      retryState: 'TIMEOUT',
    });
    expect(run.turn()).toEqual([{ kind: 'completeRun', result: '["TimeoutError","START_TO_CLOSE"]' }]);
  });

  test.each([
    ['a BigInt', '{ deep: [1n] }', 'input of step "one".deep[0] is a BigInt'],
    ['NaN', '{ deep: NaN }', 'input of step "one".deep is NaN'],
    ['undefined in an array', '[undefined]', 'input of step "one"[0] is undefined in an array'],
    [
      'a circle',
      '(() => { const a = {}; a.a = a; return a; })()',
      'input of step "one".a is a circular reference',
    ],
  ])('refuse %s, which JSON cannot carry', (_, value, message) => {
    const run = new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: true,
      code: `const { workflow } = require('perdure'); const { stepReference } = require('perdure/internal');
        exports.default = workflow({ name: 'test', fn: () => stepReference({ name: 'one' })(${value}) });`,
    });
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { type: 'PayloadError', message: expect.stringContaining(message), nonRetryable: true },
      },
    ]);
  });

  test('a result that JSON cannot carry fails the run, naming the path', () => {
    const run = new ScriptedRun(({ workflow }) =>
      workflow({ name: 'test', fn: async () => ({ total: { big: 10n } }) }),
    );
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { type: 'PayloadError', message: expect.stringContaining('result.total.big') },
      },
    ]);
  });
});

describe('the input and output of a workflow', () => {
  test('that do not fit their schema fail the run with the issues', () => {
    const run = new ScriptedRun(({ workflow, z }) =>
      workflow({ name: 'test', inputSchema: z.object({ n: z.number() }), fn: async () => {} }),
    );
    expect(run.start({ n: 'x' }).turn()).toMatchObject([
      {
        kind: 'failRun',
        refusesInput: true,
        failure: {
          type: 'ValidationError',
          nonRetryable: true,
          message: expect.stringMatching(/^input of workflow "test" is invalid: n: /),
          properties: { issues: [{ path: ['n'], code: 'invalid_type' }] },
        },
      },
    ]);
    const output = new ScriptedRun(({ workflow, z }) =>
      workflow({ name: 'test', outputSchema: z.string(), fn: async () => 1 as never }),
    );
    const [refused] = output.start().turn();
    expect(refused).toMatchObject({
      kind: 'failRun',
      failure: { type: 'ValidationError', message: expect.stringMatching(/^output of/) },
    });
    expect(refused).not.toHaveProperty('refusesInput');
  });

  test('are transformed, also by schemas that need time', () => {
    const run = new ScriptedRun(({ workflow, z }) =>
      workflow({
        name: 'test',
        inputSchema: z.string().transform(async (text) => text.length),
        outputSchema: z.number().transform((n) => `got ${n}`),
        fn: (length) => length * 2,
      }),
    );
    expect(run.start('four').turn()).toEqual([{ kind: 'completeRun', result: '"got 8"' }]);
  });

  test.each([0, false, '', null])('%j is a result like any other', (value) => {
    const run = new ScriptedRun(({ workflow }) => workflow({ name: 'test', fn: async (input) => input }));
    expect(run.start(value).turn()).toEqual([{ kind: 'completeRun', result: JSON.stringify(value) }]);
  });

  test('are absent when there are none', () => {
    const run = new ScriptedRun(({ workflow }) =>
      workflow({ name: 'test', fn: (input) => (input === undefined ? undefined : 'some') }),
    );
    expect(run.start().turn()).toEqual([{ kind: 'completeRun' }]);
  });
});

describe('executeInParallel', () => {
  test('bounds what runs at a time and answers in the order of the jobs', () => {
    const run = new ScriptedRun(({ workflow, executeInParallel }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const ended: number[] = [];
          const results = await executeInParallel({
            jobs: ['a', 'b', 'c'].map((name) => () => step(name)()),
            concurrency: 2,
            onJobCompleted: ({ index }) => ended.push(index),
          });
          return [ended, results.map((r) => (r.ok ? r.result : (r.error as Error).message))];
        },
      }),
    );
    expect(run.start().turn()).toMatchObject([{ stepName: 'a' }, { stepName: 'b' }]);
    expect(run.failStep('2', { message: 'b broke' }).turn()).toMatchObject([{ stepName: 'c' }]);
    expect(run.completeStep('3', 'C').completeStep('1', 'A').turn()).toEqual([
      { kind: 'completeRun', result: '[[1,2,0],["A","b broke","C"]]' },
    ]);
  });

  test('starts nothing more once the run is cancelled, and rejects', () => {
    const run = new ScriptedRun(({ workflow, executeInParallel }, step) =>
      workflow({
        name: 'test',
        fn: () => executeInParallel({ jobs: ['a', 'b'].map((name) => () => step(name)()), concurrency: 1 }),
      }),
    );
    run.start().turn();
    expect(run.cancel().turn()).toEqual([{ kind: 'cancelStep', activityId: '1' }, { kind: 'cancelRun' }]);
  });

  test.each([
    ['jobs: [step("a")()]', 'job 0 is not a function'],
    ['jobs: [() => 1], concurrency: 0', 'concurrency is 0'],
    ['jobs: [() => 1], concurrency: 1.5', 'concurrency is 1.5'],
    ['', 'needs jobs'],
  ])('refuses { %s }', (options, message) => {
    const run = new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: false,
      code: `const { workflow, executeInParallel } = require('perdure');
        const step = (name) => require('perdure/internal').stepReference({ name });
        exports.default = workflow({ name: 'test', fn: () => executeInParallel({ ${options} }) });`,
    });
    expect(run.start().turn().at(-1)).toMatchObject({
      kind: 'failRun',
      failure: { type: 'UsageError', message: expect.stringContaining(message) },
    });
  });
});

describe('HTTP from a workflow', () => {
  test('sendHttpRequest is a step of its own', () => {
    const run = new ScriptedRun(({ workflow, sendHttpRequest }) =>
      workflow({
        name: 'test',
        fn: async () =>
          (await sendHttpRequest({ url: 'http://localhost/x', method: 'PUT', payload: { a: 1 } })).body,
      }),
    );
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'scheduleStep',
        stepName: 'sendHttpRequest',
        input: ['{"url":"http://localhost/x","method":"PUT","payload":{"a":1}}'],
      },
    ]);
    expect(run.completeStep('1', { status: 200, body: 'hi' }).turn()).toEqual([
      { kind: 'completeRun', result: '"hi"' },
    ]);
  });

  const webhooks = () =>
    new ScriptedRun(({ workflow, sendPostRequestAndAwaitWebhook }) =>
      workflow({
        name: 'test',
        fn: async () => [
          await sendPostRequestAndAwaitWebhook({ url: 'http://localhost/a', payload: 1 }),
          await sendPostRequestAndAwaitWebhook({ url: 'http://localhost/b', payload: 2 }),
        ],
      }),
    );

  test('a webhook posts the id and waits for feedback', () => {
    const run = webhooks();
    const [post] = run.start().turn() as { stepName: string; input: string[] }[];
    expect(post!.stepName).toBe('sendPostRequest');
    expect(JSON.parse(post!.input[0]!)).toEqual({
      url: 'http://localhost/a',
      payload: {
        workflowId: 'test-1',
        payload: 1,
        callbackId: expect.any(String),
        callbackUrl: expect.stringMatching(/^https:\/\/outside\.test\/test-1\//),
      },
    });
    expect(run.completeStep('1', {}).turn()).toEqual([]);
    expect(run.signal('resume', 'first').turn()).toMatchObject([
      { stepName: 'sendPostRequest', activityId: '2' },
    ]);
    expect(run.signal('resume', 'second').completeStep('2', {}).turn()).toEqual([
      { kind: 'completeRun', result: '["first","second"]' },
    ]);
  });

  test('feedback that comes first is kept, in order', () => {
    const run = webhooks();
    expect(run.start().signal('resume', 'early').signal('resume', 'also early').turn()).toHaveLength(1);
    expect(run.completeStep('1').turn()).toMatchObject([{ stepName: 'sendPostRequest' }]);
    expect(run.completeStep('2').turn()).toEqual([{ kind: 'completeRun', result: '["early","also early"]' }]);
  });
});

describe('what is left behind by a run that ends', () => {
  test('asks for nothing any more', () => {
    const run = new ScriptedRun(({ workflow, sleep }, step) =>
      workflow({
        name: 'test',
        fn: async () => {
          const behind = async () => {
            for (let i = 0; i < 20; i++) await null;
            await Promise.all([step('late')(), sleep(1000)]);
          };
          void behind();
          return 'done';
        },
      }),
    );
    expect(run.start().turn()).toEqual([{ kind: 'completeRun', result: '"done"' }]);
  });
});

describe('the error of a step that fails its run', () => {
  test.each(['Error', 'TypeError', 'CardDeclined'])('keeps the name %s, with the step', (type) => {
    const run = new ScriptedRun(({ workflow }, step) =>
      workflow({ name: 'test', fn: async () => await step('charge')() }),
    );
    run.start().turn();
    expect(run.failStep('1', { type, message: 'no' }).turn()).toMatchObject([
      { kind: 'failRun', failure: { kind: 'step', type, message: 'no', activityType: 'test#charge' } },
    ]);
  });
});

describe('a step with other options for one call', () => {
  test('has them over its own, those over the workflow, and the next call has its own again', () => {
    const run = new ScriptedRun(({ workflow }, step) => {
      const charge = step('charge', {
        heartbeatTimeout: '7s',
        startToCloseTimeout: '1m',
        retry: { maximumAttempts: 5, initialInterval: '2s' },
      });
      return workflow({
        name: 'test',
        options: { stepOptions: { scheduleToCloseTimeout: '1h', retry: { backoffCoefficient: 3 } } },
        fn: async () => {
          const patient = charge.with({ startToCloseTimeout: '5m', retry: { maximumAttempts: 9 } });
          await Promise.all([patient(), patient.with({ retry: { maximumAttempts: 1 } })(), charge()]);
        },
      });
    });
    const common = { scheduleToCloseTimeoutMs: 3_600_000, heartbeatTimeoutMs: 7_000 };
    const retry = { initialIntervalMs: 2_000, backoffCoefficient: 3 };
    expect(run.start().turn()).toMatchObject([
      {
        stepName: 'charge',
        settings: { ...common, startToCloseTimeoutMs: 300_000, retry: { ...retry, maximumAttempts: 9 } },
      },
      { settings: { ...common, startToCloseTimeoutMs: 300_000, retry: { ...retry, maximumAttempts: 1 } } },
      { settings: { ...common, startToCloseTimeoutMs: 60_000, retry: { ...retry, maximumAttempts: 5 } } },
    ]);
  });

  test('takes no option that it does not know', () => {
    const run = new ScriptedRun(({ workflow }, step) =>
      workflow({ name: 'test', fn: async () => await step('a').with({ heartbeat: '1s' } as never)() }),
    );
    expect(run.start().turn()).toMatchObject([
      {
        kind: 'failRun',
        failure: { message: expect.stringContaining('step "a" has no option "heartbeat"') },
      },
    ]);
  });
});

describe('calls with options that nobody knows', () => {
  test.each([
    [
      'sendHttpRequest({ url: "http://x", responseOptions: { includeBody: false } })',
      'responseOptions of sendHttpRequest() has no option "includeBody": did you mean "body"?',
    ],
    [
      'sendHttpRequest({ url: "http://x", header: {} })',
      'sendHttpRequest() has no option "header": did you mean "headers"?',
    ],
    ['sendHttpRequest("http://x")', 'sendHttpRequest() must be an object with url, '],
    ['executeInParallel({ job: [] })', 'executeInParallel() has no option "job": did you mean "jobs"?'],
    [
      'child({}, { workflowID: "x" })',
      'the call of workflow "child" has no option "workflowID": did you mean "workflowId"?',
    ],
    [
      'new CancellationScope({ timeOut: 1 })',
      'new CancellationScope() has no option "timeOut": did you mean "timeout"?',
    ],
    [
      'setHandler(defineSignal("s"), () => {}, { validate: () => {} })',
      'setHandler() of signal "s" has no option "validate"',
    ],
  ])('%s', (call, message) => {
    const run = new ScriptedRun({
      workflowType: 'test',
      filename: 'test/workflow.ts',
      exportName: 'default',
      stateless: false,
      code: `"use strict";
const { workflow, sendHttpRequest, executeInParallel, CancellationScope, setHandler, defineSignal } = require('perdure');
const child = workflow({ name: 'child', fn: async () => {} });
exports.default = workflow({ name: 'test', fn: async () => { await ${call}; } });`,
    });
    expect(run.start().turn()).toMatchObject([
      { kind: 'failRun', failure: { type: 'DefinitionError', message: expect.stringContaining(message) } },
    ]);
  });
});
