import { describe, expect, test } from 'vitest';
import { z } from './index.js';
import { jsonSchemaOf, parse, type Schema } from './schema.js';

/** A schema of another library, which answers later. */
const custom = (more: object): Schema => ({
  '~standard': {
    version: 1,
    vendor: 'custom',
    validate: async (value) =>
      typeof value === 'string'
        ? { value: value.trim() }
        : { issues: [{ message: 'not a text', path: [{ key: 'a' }, 0] }] },
    ...more,
  },
});

describe('jsonSchemaOf', () => {
  test('tells what goes in from what comes out', () => {
    const schema = z.object({ n: z.string().transform(Number).pipe(z.number()), d: z.number().default(1) });
    expect(jsonSchemaOf(schema, 'input')).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: { n: { type: 'string' } },
      required: ['n'],
    });
    expect(jsonSchemaOf(schema, 'output')).toMatchObject({
      properties: { n: { type: 'number' } },
      required: ['n', 'd'],
    });
  });

  test('asks other libraries in the ways there are', () => {
    const standard = custom({
      jsonSchema: { input: () => ({ type: 'string', in: true }), output: () => ({ type: 'string' }) },
    });
    expect(jsonSchemaOf(standard, 'input')).toEqual({ type: 'string', in: true });
    const own = Object.assign(custom({}), { toJsonSchema: () => ({ type: 'string', own: true }) });
    expect(jsonSchemaOf(own, 'output')).toEqual({ type: 'string', own: true });
  });

  test('says what it can of what JSON Schema has no words for', () => {
    const schema = z.object({ id: z.string(), at: z.string().transform((text) => new Date(text)) });
    expect(jsonSchemaOf(schema, 'input')).toMatchObject({ properties: { at: { type: 'string' } } });
    expect(jsonSchemaOf(schema, 'output')).toMatchObject({
      properties: { id: { type: 'string' }, at: {} },
      required: ['id', 'at'],
    });
    expect(jsonSchemaOf(z.object({ n: z.bigint(), s: z.string() }), 'input')).toMatchObject({
      properties: { n: {}, s: { type: 'string' } },
    });
  });

  test('says nothing where nothing can be said', () => {
    expect(jsonSchemaOf(custom({}), 'input')).toBeNull();
    expect(
      jsonSchemaOf(
        z.string().transform((text) => text.length),
        'output',
      ),
    ).toBeNull();
    const throwing = () => {
      throw new Error('no');
    };
    expect(jsonSchemaOf(custom({ jsonSchema: { input: throwing, output: throwing } }), 'output')).toBeNull();
  });
});

describe('parse', () => {
  test('answers at once where it can, and reports issues with their path', async () => {
    expect(parse(z.string().trim(), ' a ', 'x')).toBe('a');
    expect(parse(undefined, 1, 'x')).toBe(1);
    expect(() => parse(z.object({ a: z.array(z.number()) }), { a: [1, 'b'] }, 'input of x')).toThrow(
      'input of x is invalid: a.1: ',
    );
    expect(await parse(custom({}), ' b ', 'x')).toBe('b');
    await expect(parse(custom({}), 1, 'x')).rejects.toMatchObject({
      name: 'ValidationError',
      message: 'x is invalid: a.0: not a text',
      issues: [{ path: ['a', 0], message: 'not a text', code: 'invalid' }],
      nonRetryable: true,
    });
  });
});
