import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHECK_STEPS, MAX_ISSUES } from '../../core/bounds/limits.js';
import type { JsonSchema } from '../../core/catalog.js';
import { Budget, TooMuchWork } from './budget.js';
import { KEYWORDS } from './keywords/index.js';
import { PatternCache } from './pattern-cache.js';
import { Validator, type Verdict } from './validator.js';

function check(schema: JsonSchema, value: unknown, steps = CHECK_STEPS) {
  const validator = new Validator(KEYWORDS, schema, new PatternCache(), new Budget(steps), []);
  const verdict: Verdict = validator.validate(schema, value);
  return { verdict, issues: validator.issues };
}

const verdictOf = (schema: JsonSchema, value: unknown): Verdict => check(schema, value).verdict;

const KEYS = ['a', 'b', 'c', 'long'];
const scalar = fc.constantFrom<unknown>(null, true, false, 0, 1, 2, 1.5, -3, '', 'a', 'b', 'ab', 'abc');
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'value' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const small = fc.integer({ min: 0, max: 3 });
const types = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];
const schemas = fc.letrec<{ schema: JsonSchema | boolean; list: (JsonSchema | boolean)[]; map: object }>(
  (tie) => ({
    list: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
    map: fc.dictionary(fc.constantFrom(...KEYS), tie('schema'), { maxKeys: 3, noNullPrototype: true }),
    schema: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'schema' },
      fc.boolean(),
      fc.constantFrom(...types).map((type) => ({ type })),
      fc.uniqueArray(fc.constantFrom(...types), { minLength: 1, maxLength: 3 }).map((type) => ({ type })),
      scalar.map((constant) => ({ const: constant })),
      fc.constant({ $ref: '#/$defs/text' }),
      fc.record(
        {
          type: fc.constantFrom(...types),
          enum: fc.array(value, { minLength: 1, maxLength: 3 }),
          const: value,
          minLength: small,
          maxLength: small,
          pattern: fc.constantFrom('^a', 'b$', '^[ab]+$', 'c|^$'),
          minimum: small,
          maximum: small,
          exclusiveMinimum: small,
          exclusiveMaximum: small,
          multipleOf: fc.constantFrom(1, 2, 3),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          properties: tie('map'),
          patternProperties: fc.dictionary(fc.constantFrom('^a', 'o', '^[bc]$'), tie('schema'), {
            maxKeys: 2,
            noNullPrototype: true,
          }),
          additionalProperties: tie('schema'),
          propertyNames: tie('schema'),
          required: fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 2 }),
          dependentRequired: fc.constantFrom({ a: ['b'] }, { b: ['a', 'c'] }),
          dependentSchemas: tie('map'),
          minProperties: small,
          maxProperties: small,
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          prefixItems: tie('list'),
          items: tie('schema'),
          uniqueItems: fc.boolean(),
          minItems: small,
          maxItems: small,
        },
        { requiredKeys: [] },
      ),
      fc.record(
        { contains: tie('schema'), minContains: small, maxContains: small },
        { requiredKeys: ['contains'] },
      ),
      fc.record(
        {
          allOf: tie('list'),
          anyOf: tie('list'),
          oneOf: tie('list'),
          not: tie('schema'),
          if: tie('schema'),
          // biome-ignore lint/suspicious/noThenProperty: the keyword is called so
          then: tie('schema'),
          else: tie('schema'),
        },
        { requiredKeys: [] },
      ),
    ) as fc.Arbitrary<JsonSchema | boolean>,
  }),
).schema;

describe('the verdict', () => {
  it('is the one of another validator', () => {
    let right = 0;
    let wrong = 0;
    const another = new Ajv2020({ strict: false, logger: false, validateFormats: false });
    fc.assert(
      fc.property(schemas, fc.array(value, { minLength: 1, maxLength: 6 }), (drawn, values) => {
        const schema = { allOf: [drawn], $defs: { text: { type: 'string', minLength: 1 } } };
        const other = another.compile(schema);
        for (const each of values) {
          let expected: boolean;
          try {
            expected = other(each);
          } catch (error) {
            // The code that the other one makes is not always right (a name that it forgot to declare).
            expect(error).toBeInstanceOf(ReferenceError);
            continue;
          }
          expected ? right++ : wrong++;
          const { verdict, issues } = check(schema, each);
          expect([schema, each, verdict]).toEqual([schema, each, expected]);
          expect(issues.length > 0).toBe(!expected);
        }
      }),
      { numRuns: 500, seed: 11 },
    );
    expect(Math.min(right, wrong)).toBeGreaterThan(300);
  }, 120_000);

  it.each<[string, JsonSchema, unknown, Verdict]>([
    ['a pattern that needs backtracking', { pattern: '^(a+)\\1$' }, 'b', undefined],
    ['nor when it is forbidden', { not: { pattern: '^(a+)\\1$' } }, 'aa', undefined],
    ['but what else is wrong counts', { pattern: '^(a+)\\1$', maxLength: 1 }, 'bbb', false],
    ['one of several that may fit', { anyOf: [{ type: 'number' }, { pattern: '(a)\\1' }] }, 'b', undefined],
    ['one of several that does fit', { anyOf: [{ pattern: '(a)\\1' }, { type: 'string' }] }, 'b', true],
    ['exactly one', { oneOf: [{ pattern: '(a)\\1' }, { type: 'string' }] }, 'b', undefined],
    ['two for certain', { oneOf: [{ pattern: '(a)\\1' }, {}, { type: 'string' }] }, 'b', false],
    ['a condition', { if: { pattern: '(a)\\1' }, else: false }, 'b', undefined],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }, 1, undefined],
    ['a reference to nothing', { $ref: '#/$defs/none' }, 1, undefined],
    ['what is unevaluated', { unevaluatedProperties: false }, { a: 1 }, undefined],
    ['a type that there is not', { type: 'date' }, 1, undefined],
    ['a keyword in an unknown form', { required: 'a' }, {}, undefined],
    ['halves of a pair that may count twice', { minLength: 2 }, '😀', true],
    ['or once', { maxLength: 1 }, '😀', true],
    ['a fraction that is stored inexactly', { multipleOf: 0.1 }, 0.3, undefined],
    ['a member that objects have by nature', { required: ['toString'] }, {}, false],
  ])('of %s', (_what, schema, given, expected) => {
    expect(verdictOf(schema, given)).toBe(expected);
  });

  it('comes with where and what', () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, tags: { type: 'array', items: { enum: ['x', 'y'] } } },
      required: ['name', 'size'],
      additionalProperties: false,
    };
    const { issues } = check(schema, { name: 1, tags: ['x', 'z'], more: 0 });
    expect(issues).toEqual([
      { path: ['name'], message: 'must be string', code: 'type' },
      { path: ['tags', 1], message: 'must be equal to one of the allowed values', code: 'enum' },
      { path: ['size'], message: "must have required property 'size'", code: 'required' },
      { path: ['more'], message: 'must NOT have additional properties', code: 'additionalProperties' },
    ]);
  });

  it('does not list more than a reader acts on', () => {
    const { verdict, issues } = check({ items: { type: 'string' } }, Array(10_000).fill(0));
    expect([verdict, issues.length]).toEqual([false, MAX_ISSUES]);
  });
});

/** Fits, but only after everything has been tried. */
const TEXT = 'a'.repeat(40);

describe('the bound', () => {
  it('lets the largest body through an ordinary schema', () => {
    const schema = {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: { type: 'integer', minimum: 0 }, name: { type: 'string', pattern: '^[a-z ]+$' } },
        required: ['id', 'name'],
      },
    };
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'some name here' }));
    expect(verdictOf(schema, rows)).toBe(true);
    expect(
      verdictOf(
        { uniqueItems: true },
        Array.from({ length: 250_000 }, (_, i) => i),
      ),
    ).toBe(true);
  });

  it.each<[string, JsonSchema]>([
    ['refers to itself', { $ref: '#' }],
    ['doubles', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['asks every item much', { items: { enum: [...Array.from({ length: 1_000 }, (_, i) => [i]), TEXT] } }],
    ['has large patterns', { items: { pattern: '(a{90}){90}b|^a+$' } }],
  ])('ends what %s', (_what, schema) => {
    const value = Array<string>(20_000).fill(TEXT);
    expect(() => check(schema, value)).toThrow(TooMuchWork);
  });
});
