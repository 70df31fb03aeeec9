import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

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
