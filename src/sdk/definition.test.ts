import { describe, expect, test } from 'vitest';
import { DEFAULT_STEP_RETRY } from '../core/run/retry.js';
import { stepDefinition, workflowDefinition } from './definition.js';
import { DefinitionError, defineQuery, defineSignal, step, workflow, z } from './index.js';
import { parseInput } from './workflow.js';

const fn = () => {};

describe('a definition', () => {
  test('takes null for no input where its schema takes none, and not null', async () => {
    const parsed = (inputSchema: z.ZodType) =>
      parseInput(workflowDefinition(workflow({ name: 'w', inputSchema, fn }))!, null);
    expect(parsed(z.string().default('none'))).toBe('none');
    expect(parsed(z.string().nullable().default('none'))).toBe(null);
    const later = z.string().refine(async () => true);
    expect(await parsed(later.default('none'))).toBe('none');
    expect(() => parsed(z.string())).toThrow('received null');
    await expect(async () => parsed(later)).rejects.toThrow('received null');
  });

  test('is found on what workflow() and step() give', () => {
    const order = workflow({
      name: 'order',
      description: 'Orders',
      aliases: ['purchase'],
      signals: { approve: { description: 'ok', inputSchema: z.string() } },
      options: {
        executionTimeout: '1 day',
        retry: { maximumAttempts: 2 },
        stepOptions: { startToCloseTimeout: '1m' },
        disableTrace: true,
      },
      fn,
    });
    expect(workflowDefinition(order)).toMatchObject({
      name: 'order',
      description: 'Orders',
      aliases: ['purchase'],
      executionTimeoutMs: 86_400_000,
      retry: { ...DEFAULT_STEP_RETRY, maximumAttempts: 2 },
      stepDefaults: { startToCloseTimeoutMs: 60_000 },
      disableTrace: true,
    });
    expect(workflowDefinition(order)?.signals).toHaveProperty('approve');
    expect(workflowDefinition(order)?.queries).toBeUndefined();
    expect(order.name).toBe('order');
    const charge = step({
      name: 'charge',
      options: { retry: { maximumAttempts: Number.POSITIVE_INFINITY } },
      fn,
    });
    expect(stepDefinition(charge)).toMatchObject({
      name: 'charge',
      options: { retry: { maximumAttempts: 0 } },
    });
    for (const other of [undefined, null, {}, fn, 'x']) {
      expect(workflowDefinition(other)).toBeUndefined();
      expect(stepDefinition(other)).toBeUndefined();
    }
    expect(workflowDefinition(charge)).toBeUndefined();
  });

  test.each<[string, () => unknown, string]>([
    [
      'a name with a dash',
      () => workflow({ name: 'my-order', fn }),
      '"my-order" is not a name for a workflow',
    ],
    ['no name', () => step({ fn } as never), 'undefined is not a name for a step'],
    ['no fn', () => workflow({ name: 'a' } as never), 'workflow "a" needs fn'],
    ['nothing', () => workflow(undefined as never), 'workflow() needs its definition'],
    ['nothing at all', () => step(undefined as never), 'step() needs its definition'],
    ['an alias twice', () => workflow({ name: 'a', aliases: ['b', 'b'], fn }), 'has the alias "b" twice'],
    ['itself as an alias', () => workflow({ name: 'a', aliases: ['a'], fn }), 'has the alias "a" twice'],
    [
      'a bad alias',
      () => workflow({ name: 'a', aliases: ['b c'], fn }),
      'is not a name for an alias of workflow "a"',
    ],
    [
      'aliases that are no list',
      () => workflow({ name: 'a', aliases: 'order' as never, fn }),
      'aliases of workflow "a" must be a list of names',
    ],
    [
      'a description of a workflow that is no text',
      () => workflow({ name: 'a', description: 5 as never, fn }),
      'description of workflow "a" must be a text, and is 5',
    ],
    [
      'a description of a step that is no text',
      () => step({ name: 'a', description: { en: 'charges' } as never, fn }),
      'description of step "a" must be a text, and is an object',
    ],
    [
      'a description of a declaration that is no text',
      () => workflow({ name: 'a', updates: { u: { description: [] as never } }, fn }),
      'description of update "u" of workflow "a" must be a text, and is a list',
    ],
    [
      'a description of a message that is no text',
      () => defineSignal('s', { description: 5 as never }),
      'description of signal "s" must be a text, and is 5',
    ],
    [
      'a declaration without a name',
      () => workflow({ name: 'a', signals: { '': {} }, fn }),
      '"" is not a name for a signal',
    ],
    [
      'a declaration of what the service sends',
      () => workflow({ name: 'a', signals: { 'perdure.pause': {} }, fn }),
      '"perdure.pause" is not a name for a signal',
    ],
    [
      'a switch that is a text',
      () => workflow({ name: 'a', options: { disableTrace: 'no' as never }, fn }),
      'disableTrace of workflow "a" must be true or false, and is "no"',
    ],
    [
      'a schema that is none',
      () => step({ name: 'a', inputSchema: { type: 'object' } as never, fn }),
      'inputSchema of step "a" is not a schema',
    ],
    [
      'a bad declaration',
      () => workflow({ name: 'a', queries: { q: null as never }, fn }),
      'query "q" of workflow "a"',
    ],
    [
      'an unknown option',
      () => step({ name: 'a', options: { timeout: 1 } as never, fn }),
      'step "a" has no option "timeout": known are startToCloseTimeout, ',
    ],
    [
      'an unknown retry option',
      () => step({ name: 'a', options: { retry: { max: 1 } as never }, fn }),
      'retry of step "a" has no option "max": known are initialInterval, ',
    ],
    [
      'a mistyped option',
      () => step({ name: 'a', options: { startToCloseTimout: 1 } as never, fn }),
      'step "a" has no option "startToCloseTimout": did you mean "startToCloseTimeout"?',
    ],
    [
      'a mistyped retry option of a workflow',
      () => workflow({ name: 'a', options: { retry: { maxAttempts: 1 } as never }, fn }),
      'retry of workflow "a" has no option "maxAttempts": did you mean "maximumAttempts"?',
    ],
    [
      'options of another library',
      () => workflow({ name: 'a', options: { activityOptions: {} } as never, fn }),
      'options of workflow "a" has no option "activityOptions": known are stepOptions, ',
    ],
    [
      'a mistyped part of a workflow',
      () => workflow({ name: 'a', outputSchemas: z.string(), fn } as never),
      'workflow "a" has no option "outputSchemas": did you mean "outputSchema"?',
    ],
    [
      'a mistyped part of a step',
      () => step({ name: 'a', retry: {}, fn } as never),
      'step "a" has no option "retry": known are name, ',
    ],
    [
      'options that are none',
      () => step({ name: 'a', options: '30s' as never, fn }),
      'step "a" must be an object with startToCloseTimeout',
    ],
    [
      'a mistyped part of a declaration',
      () => workflow({ name: 'a', signals: { s: { inputScheme: z.string() } as never }, fn }),
      'the declaration of signal "s" of workflow "a" has no option "inputScheme": did you mean "inputSchema"?',
    ],
    [
      'declarations as a list',
      () => workflow({ name: 'a', signals: ['s'] as never, fn }),
      'the signals of workflow "a" must be an object',
    ],
    [
      'a definition under another name',
      () => workflow({ name: 'a', signals: { other: defineSignal('s', {}) }, fn }),
      'signal "other" of workflow "a" is declared by the definition of signal "s"',
    ],
    [
      'a definition of another kind',
      () => workflow({ name: 'a', signals: { s: defineQuery('s', {}) }, fn }),
      'signal "s" of workflow "a" is declared by the definition of query "s"',
    ],
    [
      'an unknown option for one call',
      () => step({ name: 'a', fn }).with({ retries: 1 } as never),
      '"retry"?',
    ],
    [
      'an answer of a signal',
      () => defineSignal('s', { outputSchema: z.string() }),
      'no option "outputSchema"',
    ],
    [
      'a message that is not declared',
      () => defineSignal(workflow({ name: 'a', signals: { approve: {} }, fn }), 'aprove' as never),
      'workflow "a" declares no signal "aprove": did you mean "approve"?',
    ],
    [
      'a timeout of 0',
      () => step({ name: 'a', options: { startToCloseTimeout: 0 }, fn }),
      'startToCloseTimeout of step "a" is 0',
    ],
    [
      'a negative attempt',
      () => step({ name: 'a', options: { retry: { maximumAttempts: -1 } }, fn }),
      'retry.maximumAttempts of step "a" is -1',
    ],
    [
      'a shrinking backoff',
      () => step({ name: 'a', options: { retry: { backoffCoefficient: 0.5 } }, fn }),
      'use a number of 1 or more',
    ],
    [
      'intervals the wrong way round',
      () => step({ name: 'a', options: { retry: { initialInterval: '2m', maximumInterval: '1m' } }, fn }),
      'maximumInterval is shorter',
    ],
    [
      'types that are no list',
      () => step({ name: 'a', options: { retry: { nonRetryableErrorTypes: 'E' as never } }, fn }),
      'list of error names',
    ],
    [
      'an unknown cancellation type',
      () => step({ name: 'a', options: { cancellationType: 'NOW' as never }, fn }),
      'cancellationType of step "a" is "NOW"',
    ],
    [
      'an execution timeout of 0',
      () => workflow({ name: 'a', options: { executionTimeout: 0 }, fn }),
      'executionTimeout of workflow "a" is 0',
    ],
  ])('with %s is refused', (_, define, message) => {
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });

  test('with a duration that is none says which', () => {
    expect(() => step({ name: 'a', options: { heartbeatTimeout: 'soon' }, fn })).toThrow(
      'heartbeatTimeout of step "a" "soon" is not a duration',
    );
  });
});
