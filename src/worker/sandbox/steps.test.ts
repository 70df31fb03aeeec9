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
