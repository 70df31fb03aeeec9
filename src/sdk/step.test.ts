import { describe, expect, test } from 'vitest';
import { sleep, step, stepContext, UsageError, ValidationError, workflow, z } from './index.js';
import { stepReference } from './step.js';
import { provideStepContext, type StepContext } from './step-context.js';

const double = step({
  name: 'double',
  inputSchema: z.object({ n: z.number().default(4) }),
  outputSchema: z.number().transform((n) => `${n}`),
  fn: async ({ n }) => n * 2,
});

describe('a step that is called outside a workflow', () => {
  test('just runs: its input and output are parsed', async () => {
    expect(await double({ n: 2 })).toBe('4');
    expect(await double({})).toBe('8');
    await expect(double({ n: 'x' as never })).rejects.toThrow(ValidationError);
    await expect(double({ n: 'x' as never })).rejects.toThrow('input of step "double" is invalid: n: ');
    const wrong = step({ name: 'wrong', outputSchema: z.string(), fn: () => 1 as never });
    await expect(wrong()).rejects.toThrow('output of step "wrong" is invalid');
  });

  test('has a context that stands for nobody, also after awaits and in steps it calls', async () => {
    const inner = step({ name: 'inner', fn: () => stepContext().stepName });
    const outer = step({
      name: 'outer',
      fn: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        const { attempt, signal, heartbeat, idempotencyKey, stepName } = stepContext();
        heartbeat({ at: 1 });
        return [attempt, signal.aborted, idempotencyKey, stepName, await inner()];
      },
    });
    expect(await outer()).toEqual([1, false, 'plain/outer', 'outer', 'outer']);
    expect(await inner()).toBe('inner');
  });

  test('gets the context of the worker where there is one', async () => {
    const context = { stepName: 'from the worker' } as StepContext;
    provideStepContext(() => context);
    try {
      expect(await step({ name: 'a', fn: () => stepContext() })()).toBe(context);
    } finally {
      provideStepContext(() => undefined);
    }
  });
});

describe('used outside its place', () => {
  test('stepContext() says where it belongs', () => {
    expect(() => stepContext()).toThrow(UsageError);
    expect(() => stepContext()).toThrow('stepContext() was called outside a step');
  });

  test('a workflow and what belongs into one say so', () => {
    const child = workflow({ name: 'child', fn: () => {} });
    expect(() => child()).toThrow(
      'workflow "child" was called outside a workflow: only another workflow\'s fn can call it, as its child. In a test use createTestEnvironment() of "perdure/testing"',
    );
    expect(() => sleep(1)).toThrow("sleep() can only be used inside a workflow's fn");
    expect(() => sleep(1)).toThrow('createTestEnvironment() of "perdure/testing"');
  });

  test('a reference to a step cannot run', () => {
    expect(() => stepReference({ name: 'charge' })()).toThrow(
      'step "charge" was called while a workflow\'s file was being loaded',
    );
  });
});
