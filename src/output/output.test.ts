import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { stepDefinition, workflowDefinition } from '../sdk/definition.js';
import * as own from '../sdk/index.js';
import * as output from './index.js';
import {
  EvaluationBooleanResult,
  EvaluationFeedback,
  EvaluationNumberResult,
  EvaluationResult,
  EvaluationStringResult,
  EvaluationVerdictResult,
  evaluator,
  hasErrorType,
  Logger,
  step,
  TransparentFatalError,
  workflow,
  z,
} from './index.js';

describe('perdure/output', () => {
  it('has all that perdure has', () => {
    expect(Object.keys(output)).toEqual(expect.arrayContaining(Object.keys(own)));
  });

  it('takes the options of activities, of one step or of all steps of a workflow', () => {
    const activityOptions = { startToCloseTimeout: '5s', retry: { maximumAttempts: 7 } } as const;
    const fn = async () => 1;
    const charged = step({ name: 'charge', options: { activityOptions }, fn });
    const resolved = { startToCloseTimeoutMs: 5_000, retry: { maximumAttempts: 7 } };
    expect(stepDefinition(charged)?.options).toEqual(resolved);
    const judged = evaluator({
      name: 'judge',
      options: { retry: { initialInterval: 5 }, activityOptions },
      fn: async () => new EvaluationBooleanResult({ value: true, confidence: 1 }),
    });
    expect(stepDefinition(judged)?.options).toEqual({
      ...resolved,
      retry: { initialIntervalMs: 5, maximumAttempts: 7 },
    });
    const order = workflow({ name: 'order', options: { activityOptions, disableTrace: true }, fn });
    expect(workflowDefinition(order)).toMatchObject({ stepDefaults: resolved, disableTrace: true });
  });

  it.each(['activityId', 'priority', 'summary', 'taskQueue'])(
    'refuses %s, which would do nothing',
    (name) => {
      const options = { activityOptions: { [name]: 'x' } };
      expect(() => step({ name: 's', options, fn: async () => 1 })).toThrow(
        `activityOptions.${name} of step "s" has no counterpart here`,
      );
      expect(() => workflow({ name: 'w', options, fn: async () => 1 })).toThrow(own.DefinitionError);
    },
  );

  it('refuses what a call of a child cannot be given', () => {
    const child = workflow({ name: 'c', fn: async () => 1 });
    for (const options of [{ activityOptions: {} }, { context: {} }]) {
      expect(() => child(undefined, options as never)).toThrow(own.UsageError);
    }
  });

  it('keeps literals, and knows inputs before and after parsing', () => {
    const status = z.enum(['open', 'closed']);
    const door = workflow({
      name: 'door',
      inputSchema: z.object({ by: z.string().default('ada') }),
      outputSchema: z.object({ status }),
      fn: async ({ by }) => ({ status: by === 'ada' ? 'open' : 'closed' }),
    });
    expectTypeOf(door).parameter(0).toEqualTypeOf<{ by?: string }>();
    expectTypeOf(door).returns.resolves.toEqualTypeOf<{ status: 'open' | 'closed' }>();
    const look = step({ name: 'look', outputSchema: status, fn: async () => 'open' });
    expectTypeOf(look).returns.resolves.toEqualTypeOf<'open' | 'closed'>();
    // @ts-expect-error nothing of the kind
    step({ name: 'wrong', outputSchema: status, fn: async () => 'ajar' });
    const plain = step({ name: 'plain', fn: async (input) => String(input.anything) });
    expectTypeOf(plain).returns.resolves.toEqualTypeOf<string>();
  });

  it.each([undefined, null, 5])('says what is wrong with the definition %s', (given) => {
    const definers = [step, evaluator, workflow] as unknown as ((given: unknown) => unknown)[];
    for (const define of definers) {
      expect(() => define(given)).toThrow(own.DefinitionError);
      expect(() => define({ name: 'x', fn: given })).toThrow(own.DefinitionError);
    }
  });
});

describe('an evaluator', () => {
  const judge = evaluator({
    name: 'judge',
    inputSchema: z.object({ text: z.string(), least: z.number().default(3) }),
    fn: async ({ text, least }) =>
      new EvaluationBooleanResult({ value: text.length >= least, confidence: 0.5 }),
  });

  it('answers a result, with its input parsed', async () => {
    expectTypeOf(judge).parameter(0).toEqualTypeOf<{ text: string; least?: number }>();
    const result = await judge({ text: 'ab' });
    expectTypeOf(result.value).toEqualTypeOf<boolean>();
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      value: false,
      confidence: 0.5,
      feedback: [],
      dimensions: [],
    });
  });

  it('must return one', async () => {
    const wrong = evaluator({ name: 'wrong', fn: (async () => ({ value: true, confidence: 1 })) as never });
    await expect(wrong()).rejects.toMatchObject({
      name: 'FatalError',
      message: expect.stringContaining('evaluator "wrong" must return an EvaluationResult'),
    });
  });
});

describe('results of evaluations', () => {
  it('carry feedback and dimensions', () => {
    const feedback = [new EvaluationFeedback({ issue: 'dull', suggestion: 'shorten', priority: 'high' })];
    const clarity = new EvaluationNumberResult({ name: 'clarity', value: 0.4, confidence: 1 });
    const result = new EvaluationStringResult({
      value: 'needs_revision',
      confidence: 0.8,
      reasoning: 'because',
      feedback,
      dimensions: [clarity],
    });
    expect(result).toBeInstanceOf(EvaluationResult);
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      value: 'needs_revision',
      confidence: 0.8,
      reasoning: 'because',
      feedback: [{ issue: 'dull', suggestion: 'shorten', priority: 'high' }],
      dimensions: [{ name: 'clarity', value: 0.4, confidence: 1, feedback: [], dimensions: [] }],
    });
    expect(EvaluationNumberResult.schema.safeParse({ value: 'x', confidence: 1 }).success).toBe(false);
  });

  it.each<[string, () => unknown]>([
    ['value', () => new EvaluationNumberResult({ value: '5' as never, confidence: 1 })],
    ['value', () => new EvaluationVerdictResult({ value: 'maybe' as never, confidence: 1 })],
    ['confidence', () => new EvaluationBooleanResult({ value: true, confidence: 2 })],
    ['priority', () => new EvaluationFeedback({ issue: 'x', priority: 'urgent' as never })],
  ])('are refused with a wrong %s', (field, make) => {
    expect(make).toThrow(own.ValidationError);
    expect(make).toThrow(field);
  });
});

describe('errors', () => {
  class NotFound extends Error {}

  it('are found in a chain of causes, by class and by the name that a step has left of it', () => {
    const recorded = (name: string) => Object.assign(new Error('gone'), { name });
    for (const error of [
      new NotFound('gone'),
      recorded('NotFound'),
      new Error('outer', { cause: new Error('inner', { cause: recorded('NotFound') }) }),
      { type: 'NotFound' },
    ]) {
      expect(hasErrorType(error, NotFound)).toBe(true);
    }
    for (const error of [recorded('Error'), undefined, null, 'NotFound', { cause: 5 }]) {
      expect(hasErrorType(error, NotFound)).toBe(false);
    }
    const loop = new Error('loop');
    loop.cause = loop;
    expect(hasErrorType(loop, NotFound)).toBe(false);
  });

  it('that are transparent let through what they carry, which is not retried', async () => {
    const original = Object.assign(new NotFound('gone'), { code: 404 });
    const fails = step({
      name: 'fails',
      fn: async () => {
        throw new TransparentFatalError(original);
      },
    });
    await expect(fails()).rejects.toBe(original);
    expect(original).toMatchObject({ nonRetryable: true });
    expect(Object.keys(original)).toEqual(['code']);
    const frozen = Object.freeze(new NotFound('frozen'));
    const failsToo = step({
      name: 'failsToo',
      fn: async () => {
        throw new TransparentFatalError(frozen);
      },
    });
    const thrown = await failsToo().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).toMatchObject({ message: 'frozen', nonRetryable: true });
    expect(thrown).toBeInstanceOf(NotFound);
    expect(() => new TransparentFatalError('text' as never)).toThrow(own.FatalError);
  });
});

describe('Logger', () => {
  it('speaks to the console where there is neither a workflow nor a step', () => {
    const said = vi.spyOn(console, 'debug').mockImplementation(() => {});
    Logger.createLogger('LLM').silly('quiet', { model: 'm', runId: 'not mine' });
    expect(said).toHaveBeenCalledWith('quiet', { namespace: 'LLM', model: 'm' });
    said.mockRestore();
  });
});
