/** Schemas as zod writes them for a catalog, and as others do, seen as fields of a form. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Field, fieldOf, type ObjectField, type UnionField } from './field.js';
import type { JsonSchema } from './schema.js';
import { variantLabels, variantOf } from './variant.js';

const published = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
const field = (schema: z.ZodType | JsonSchema): Field => {
  const root = schema instanceof z.ZodType ? published(schema) : schema;
  return fieldOf({ schema: root, root });
};
const member = (of: Field, name: string, root: JsonSchema): Field => {
  const { schema } = (of as ObjectField).members.find((one) => one.name === name)!;
  return fieldOf({ schema, root });
};

describe('a field', () => {
  it.each<[string, z.ZodType | JsonSchema, Partial<Field>]>([
    ['text', z.string().min(1).max(9), { kind: 'text', format: null, minLength: 1, maxLength: 9 }],
    ['an email address', z.email(), { kind: 'text', format: 'email' }],
    ['a time', z.iso.datetime(), { kind: 'text', format: 'date-time' }],
    [
      'a number',
      z.number().min(0).max(1).multipleOf(0.5),
      { kind: 'number', isInteger: false, minimum: 0, maximum: 1, multipleOf: 0.5 },
    ],
    ['a whole number', z.int(), { kind: 'number', isInteger: true }],
    ['yes or no', z.boolean().default(true), { kind: 'boolean', default: true }],
    ['a choice', z.enum(['a', 'b']).default('b'), { kind: 'choice', choices: ['a', 'b'], default: 'b' }],
    ['literals of several types', z.literal([1, 'z']), { kind: 'choice', choices: [1, 'z'] }],
    ['a union of literals', z.union([z.literal(1), z.literal('z')]), { kind: 'choice', choices: [1, 'z'] }],
    [
      'a choice or null',
      z.enum(['a', 'b']).nullable(),
      { kind: 'choice', choices: ['a', 'b'], isNullable: true },
    ],
    ['a constant', z.literal('card'), { kind: 'constant', value: 'card' }],
    ['null', z.null(), { kind: 'null' }],
    ['text or null', z.string().nullable(), { kind: 'text', isNullable: true }],
    ['an object or null', z.object({ a: z.string() }).nullable(), { kind: 'object', isNullable: true }],
    [
      'a default of null',
      z.string().nullable().default(null),
      { kind: 'text', isNullable: true, default: null },
    ],
    ['a list', z.array(z.string()).min(1).max(3), { kind: 'list', first: [], minItems: 1, maxItems: 3 }],
    ['a tuple', z.tuple([z.string(), z.number()]), { kind: 'list', items: null, minItems: 2, maxItems: 2 }],
    ['a tuple with a rest', z.tuple([z.string()], z.number()), { kind: 'list', items: { type: 'number' } }],
    [
      'words',
      z.string().meta({ title: 'T', description: 'D', deprecated: true }),
      { title: 'T', description: 'D', isDeprecated: true },
    ],
    ['anything', z.any(), { kind: 'json' }],
    ['a type that is only implied', { properties: { a: {} } }, { kind: 'object' }],
    ['a schema of another document', { $ref: 'https://example.com/schema' }, { kind: 'json' }],
    ['a reference into nothing', { $ref: '#/$defs/none' }, { kind: 'json' }],
    ['a reference to itself', { $ref: '#' }, { kind: 'json' }],
    [
      'two that refer to each other',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      { kind: 'json' },
    ],
    [
      'an alternative of its own',
      { description: 'outer', anyOf: [{ type: 'string', description: 'inner', title: 'T' }] },
      { kind: 'text', description: 'outer', title: 'T' },
    ],
    [
      'words beside a reference',
      {
        $ref: '#/$defs/a',
        description: 'here',
        $defs: { a: { type: 'string', description: 'there', title: 'T' } },
      },
      { kind: 'text', description: 'here', title: 'T' },
    ],
    [
      'a choice of types that may be null, of values that may not',
      { type: ['string', 'null'], enum: ['a'] },
      { kind: 'choice', isNullable: false },
    ],
    [
      'null among the types of an alternative',
      { anyOf: [{ type: 'string' }, { type: ['null'] }] },
      { kind: 'text', isNullable: true },
    ],
    [
      'null as the only choice of an alternative',
      { anyOf: [{ type: 'string' }, { enum: [null] }] },
      { kind: 'text', isNullable: true },
    ],
    [
      'a tuple as it was once written',
      { type: 'array', items: [{ type: 'string' }] },
      { kind: 'list', first: [{ type: 'string' }] },
    ],
    [
      'an object of anything',
      { type: 'object' },
      { kind: 'object', members: [], others: { schema: {}, names: null } },
    ],
    [
      'an object without what may not be there',
      { properties: { a: false, b: {} } },
      { kind: 'object', members: [{ name: 'b', schema: {}, isRequired: false }] },
    ],
    [
      'an object of which one member has to be there',
      { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { kind: 'object' },
    ],
    ['nonsense', { type: 7, properties: 3, required: 'a' } as JsonSchema, { kind: 'json' }],
  ])('is %s', (_what, schema, expected) => expect(field(schema)).toMatchObject(expected));

  it('has the members of an object, in their order, with what is required', () => {
    const { members, others } = field(z.object({ b: z.string(), a: z.int().optional() })) as ObjectField;
    expect(members.map(({ name, isRequired }) => [name, isRequired])).toEqual([
      ['b', true],
      ['a', false],
    ]);
    expect(others).toBeNull();
  });

  it('has what other names of a record hold', () => {
    expect(field(z.record(z.string(), z.number()))).toMatchObject({
      ...{ kind: 'object', members: [], others: { schema: { type: 'number' }, names: null } },
    });
    expect(field(z.looseObject({ a: z.string() }))).toMatchObject({ others: { schema: {} } });
    expect(field(z.partialRecord(z.enum(['m', 'n']), z.number()))).toMatchObject({
      others: { names: ['m', 'n'] },
    });
  });

  it('makes members of the fixed names of a record', () => {
    const { members, others } = field(z.record(z.enum(['m', 'n']), z.number())) as ObjectField;
    expect(members).toEqual([
      { name: 'm', schema: { type: 'number' }, isRequired: true },
      { name: 'n', schema: { type: 'number' }, isRequired: true },
    ]);
    expect(others).toBeNull();
  });

  it('puts together what allOf spreads', () => {
    const { members } = field({
      allOf: [
        { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
        { properties: { y: { type: 'number' } }, required: ['y'] },
      ],
    }) as ObjectField;
    expect(members.map(({ name, isRequired }) => [name, isRequired])).toEqual([
      ['x', true],
      ['y', true],
    ]);
  });

  it('goes as deep as it is asked into a schema that contains itself', () => {
    interface Tree {
      name: string;
      kids: Tree[];
    }
    const Tree: z.ZodType<Tree> = z.object({
      name: z.string(),
      get kids() {
        return z.array(Tree);
      },
    });
    for (const root of [published(Tree), published(z.object({ name: z.string(), kids: z.array(Tree) }))]) {
      let at = fieldOf({ schema: root, root });
      for (let depth = 0; depth < 20; depth++) {
        const kids = member(at, 'kids', root);
        if (kids.kind !== 'list') throw new Error(kids.kind);
        at = fieldOf({ schema: kids.items!, root });
      }
      expect(member(at, 'name', root).kind).toBe('text');
    }
  });

  it('follows names that have to be escaped', () => {
    const root = { $ref: '#/$defs/a~1b%20c~0', $defs: { 'a/b c~': { type: 'boolean' } } };
    expect(fieldOf({ schema: root, root }).kind).toBe('boolean');
  });
});

describe('a union', () => {
  const Payment = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('card'), number: z.string() }),
    z.object({ kind: z.literal('cash') }),
    z.object({ kind: z.enum(['bank', 'giro']), iban: z.string() }),
  ]);
  const root = published(Payment);
  const union = fieldOf({ schema: root, root }) as UnionField;
  const which = (of: UnionField, value: unknown, choices = {}, base = root) =>
    variantOf(of, value, { root: base, path: [], choices });

  it('is told apart by the member that is constant in each', () => {
    expect(union).toMatchObject({ kind: 'union', discriminator: 'kind' });
    expect(variantLabels(union, root)).toEqual(['card', 'cash', 'bank or giro']);
    expect(which(union, { kind: 'cash', number: '1' })).toBe(1);
    expect(which(union, { kind: 'giro' })).toBe(2);
  });

  it('of types is told apart by the type of the value', () => {
    const base = published(z.union([z.string(), z.int(), z.array(z.string()), z.object({ a: z.string() })]));
    const types = fieldOf({ schema: base, root: base }) as UnionField;
    expect(variantLabels(types, base)).toEqual(['text', 'whole number', 'list', 'object with a']);
    expect(['x', 3, [], {}].map((value) => which(types, value, {}, base))).toEqual([0, 1, 2, 3]);
  });

  it('of objects is told apart by the members that are there', () => {
    const base = published(
      z.union([z.object({ a: z.string() }), z.object({ b: z.string(), c: z.string() })]),
    );
    const objects = fieldOf({ schema: base, root: base }) as UnionField;
    expect(which(objects, { c: 'x' }, {}, base)).toBe(1);
  });

  it('stays with what was chosen until the value is plainly of another', () => {
    const base = published(z.union([z.email(), z.url(), z.number()]));
    const texts = fieldOf({ schema: base, root: base }) as UnionField;
    expect(variantLabels(texts, base)).toEqual(['email', 'uri', 'number']);
    expect(which(texts, '', { '[]': 1 }, base)).toBe(1);
    expect(which(texts, 3, { '[]': 1 }, base)).toBe(2);
    expect(which(texts, undefined, { '[]': 1 }, base)).toBe(1);
  });

  it('has in each variant what stands beside the union', () => {
    const root: JsonSchema = {
      ...{
        type: 'object',
        description: 'a visit',
        required: ['who'],
        properties: { who: { type: 'string' } },
      },
      oneOf: [
        { properties: { at: { type: 'string' } }, required: ['at'] },
        { properties: { after: { type: 'number' } }, required: ['after'] },
      ],
    };
    const { variants } = field(root) as UnionField;
    const members = variants
      .map((schema) => fieldOf({ schema, root }) as ObjectField)
      .map((of) => of.members);
    expect(members.map((of) => of.map(({ name, isRequired }) => [name, isRequired]))).toEqual([
      [
        ['who', true],
        ['at', true],
      ],
      [
        ['who', true],
        ['after', true],
      ],
    ]);
  });

  it('numbers variants that nothing tells apart', () => {
    const base = published(z.union([z.array(z.string()), z.array(z.number())]));
    expect(variantLabels(fieldOf({ schema: base, root: base }) as UnionField, base)).toEqual([
      'list (1)',
      'list (2)',
    ]);
  });

  it('may be null as well', () => {
    expect(field(Payment.nullable())).toMatchObject({
      kind: 'union',
      isNullable: true,
      variants: { length: 3 },
    });
  });
});
