import { describe, expect, test } from 'vitest';
import { ScriptedRun } from './scripted-run.fixture.js';

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
