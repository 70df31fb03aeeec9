/** The form and the text beside it, in step; what it begins with; what is wrong, and where. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkerOf } from './check.js';
import { formState, isFit, isSendable, reduceForm } from './form-state.js';
import { numberOf } from './inputs.js';
import { readJson } from './json-text.js';
import type { JsonSchema } from './schema.js';
import { startingValue } from './starting-value.js';
import { pathText } from './value.js';

const published = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
const start = (schema: z.ZodType | JsonSchema): unknown => {
  const root = schema instanceof z.ZodType ? published(schema) : schema;
  return startingValue({ schema: root, root });
};

const Order = z.object({
  orderId: z.string().min(1),
  cents: z.int().positive(),
  approveWithin: z.string().default('3 days'),
  note: z.string().optional(),
});

describe('a form begins with', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['defaults, and what is required', Order, { orderId: '', approveWithin: '3 days' }],
    [
      'the default of the whole',
      Order.default({ orderId: 'a', cents: 1, approveWithin: 'b' }),
      { orderId: 'a', cents: 1, approveWithin: 'b' },
    ],
    ['constants', z.object({ kind: z.literal('card'), n: z.null() }), { kind: 'card', n: null }],
    ['as many items as there must be', z.array(z.string()).min(2), ['', '']],
    ['every place of a tuple', z.tuple([z.string(), z.number(), z.boolean()]), ['', null, false]],
    ['an empty record', z.record(z.string(), z.number()), {}],
    ['null where it may be', z.string().nullable(), null],
    ['the first of a union', z.union([z.object({ a: z.string() }), z.number()]), { a: '' }],
    ['nothing where only a person knows', z.number(), undefined],
  ])('%s', (_what, schema, expected) => expect(start(schema)).toEqual(expected));

  it('an end, where a schema requires itself', () => {
    const schema: JsonSchema = { type: 'object', required: ['next'], properties: { next: { $ref: '#' } } };
    expect(JSON.stringify(start(schema)).length).toBeLessThan(200);
  });

  it('a default of its own, that nobody else changes', () => {
    const schema: JsonSchema = { type: 'array', default: [1], items: {} };
    (start(schema) as unknown[]).push(2);
    expect(start(schema)).toEqual([1]);
  });
});

describe('what is wrong', () => {
  const problems = (schema: z.ZodType | JsonSchema, value: unknown, choices = {}) =>
    checkerOf(schema instanceof z.ZodType ? published(schema) : schema)(value, choices).problems.map(
      ({ path, message }) => `${pathText(path)}: ${message}`,
    );

  it.each<[z.ZodType | JsonSchema, unknown, string[]]>([
    [Order, { orderId: 'a', cents: 1 }, []],
    [Order, { orderId: '', cents: 0 }, ['orderId: must not be empty', 'cents: must be more than 0']],
    [Order, { orderId: 7 }, ['cents: is required', 'orderId: must be text']],
    [Order, { orderId: 'a', cents: '12a' }, ['cents: must be a whole number']],
    [Order, undefined, [': is required']],
    [Order, [], [': must be an object']],
    [z.union([z.literal('a'), z.literal(2)]), 'c', [': must be "a" or 2']],
    [z.enum(['a', 'b']), 'c', [': must be "a" or "b"']],
    [
      z.array(z.object({ q: z.number().max(3) })).min(2),
      [{ q: 4 }],
      [': must have at least 2 items', '[0].q: must be at most 3'],
    ],
    [z.tuple([z.string(), z.number()]), ['a', 'b'], ['[1]: must be a number']],
    [z.record(z.string(), z.number()), { 'a b': 'x' }, ['["a b"]: must be a number']],
    [z.partialRecord(z.enum(['m']), z.number()), { x: 1 }, ['x: is not a name that is allowed here']],
    [z.object({ mail: z.email() }), { mail: 'x' }, ['mail: must be an email address']],
    [z.object({ at: z.iso.datetime() }), { at: 'x' }, ['at: must be a time such as 2026-01-31T13:45:00Z']],
    [z.string().regex(/^a+$/), 'b', [': must match ^a+$']],
    [z.strictObject({ a: z.string() }), { a: '', b: 1 }, ['b: is not known here']],
    [z.number().multipleOf(5), 7, [': must be a multiple of 5']],
    [z.string().nullable(), 3, [': must be text or null']],
    [z.object({ o: z.object({ a: z.string() }).nullable() }), { o: {} }, ['o.a: is required']],
    [
      z.object({ 'a/b ~ü': z.object({ x: z.string() }) }),
      { 'a/b ~ü': { x: 1 } },
      ['["a/b ~ü"].x: must be text'],
    ],
    [
      { oneOf: [{ minimum: 1 }, { maximum: 9 }] },
      5,
      [': fits more than one of the forms that are allowed here'],
    ],
    [
      { properties: { items: { anyOf: [{ type: 'string' }, { type: 'number' }] } } },
      { items: true },
      ['items: must be text'],
    ],
  ])('with %# is told at its place', (schema, value, expected) =>
    expect(problems(schema, value).sort()).toEqual(expected.sort()),
  );

  const Payment = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('card'), number: z.string().min(4) }),
    z.object({ kind: z.literal('cash'), cents: z.int() }),
  ]);

  it('in a union is told of the variant that is meant, however deep', () => {
    const schema = z.object({ lines: z.array(z.object({ pay: Payment })) });
    const value = { lines: [{ pay: { kind: 'card', number: '1' } }, { pay: { kind: 'cash' } }] };
    expect(problems(schema, value)).toEqual([
      'lines[0].pay.number: must have at least 4 characters',
      'lines[1].pay.cents: is required',
    ]);
    expect(problems(Payment.nullable(), { kind: 'cash' })).toEqual(['cents: is required']);
  });

  it('in a union is told of the variant that was chosen by hand', () => {
    const Contact = z.object({ to: z.union([z.email(), z.url()]) });
    expect(problems(Contact, { to: 'x' })).toEqual(['to: must be an email address']);
    expect(problems(Contact, { to: 'x' }, { '["to"]': 1 })).toEqual([
      'to: must be an address such as https://example.com',
    ]);
  });

  it('is found through references and in schemas that contain themselves', () => {
    interface Tree {
      name: string;
      kids: Tree[];
    }
    const Tree: z.ZodType<Tree> = z.object({
      name: z.string().min(2),
      get kids() {
        return z.array(Tree);
      },
    });
    const value = { name: 'ab', kids: [{ name: 'ab', kids: [{ name: 'a', kids: [] }] }] };
    expect(problems(Tree, value)).toEqual(['kids[0].kids[0].name: must have at least 2 characters']);
    expect(problems(z.object({ tree: Tree }), { tree: value })).toEqual([
      'tree.kids[0].kids[0].name: must have at least 2 characters',
    ]);
  });

  it('with the schema itself leaves the check to the service', () => {
    for (const schema of [{ pattern: '(' }, { $ref: 'https://example.com/other' }]) {
      const { problems: found, unable } = checkerOf(schema)('x');
      expect(found).toEqual([]);
      expect(unable).toMatch(/\w/);
    }
  });

  it('is told in the order of the form', () => {
    const schema = z.object({
      b: z.object({ y: z.string().min(1), x: z.string() }),
      a: z.string(),
      list: z.array(Payment),
    });
    expect(
      problems(schema, { list: [{ kind: 'cash' }, { kind: 'card', number: '' }], b: { y: '' } }),
    ).toEqual([
      'b.y: must not be empty',
      'b.x: is required',
      'a: is required',
      'list[0].cents: is required',
      'list[1].number: must not be empty',
    ]);
  });

  it('leaves the schema as it is', () => {
    const schema = published(Order);
    const before = JSON.stringify(schema);
    checkerOf(schema)({});
    expect(JSON.stringify(schema)).toBe(before);
  });
});

describe('the form and its text', () => {
  const form = () => formState(published(Order));

  it('follow each other', () => {
    let state = form();
    expect(JSON.parse(state.text)).toEqual({ orderId: '', approveWithin: '3 days' });
    expect(isFit(state)).toBe(false);
    state = reduceForm(state, { type: 'value', path: ['cents'], value: 5 });
    expect(JSON.parse(state.text)).toEqual({ orderId: '', approveWithin: '3 days', cents: 5 });
    state = reduceForm(state, { type: 'text', text: '{"orderId":"A","cents":7}' });
    expect(state).toMatchObject({ value: { orderId: 'A', cents: 7 }, text: '{"orderId":"A","cents":7}' });
    expect(isFit(state)).toBe(true);
  });

  it('stand still while the text is not JSON, and lose nothing of it', () => {
    const before = form();
    const broken = reduceForm(before, { type: 'text', text: '{\n  "cents": 1,\n}' });
    expect(broken).toMatchObject({ value: before.value, text: '{\n  "cents": 1,\n}' });
    expect(broken.textError).toMatch(/line 3, column 1/);
    expect(isFit(broken)).toBe(false);
    expect(reduceForm(broken, { type: 'text', text: '{"orderId":"A","cents":1}' }).textError).toBeNull();
  });

  it('are not sent while a part of the form is not JSON yet', () => {
    const schema = published(z.object({ any: z.any() }));
    let state = reduceForm(formState(schema, { any: 1 }), { type: 'unread', path: ['any'] });
    expect([isFit(state), state.value]).toEqual([false, { any: 1 }]);
    state = reduceForm(state, { type: 'value', path: ['any'], value: 2 });
    expect([isFit(state), state.value]).toEqual([true, { any: 2 }]);
  });

  it('forget what could not be read with the value that it stood in', () => {
    const schema = { type: 'object', properties: { list: { type: 'array' }, other: {} } };
    let state = formState(schema, { list: [1], other: 1 });
    state = reduceForm(state, { type: 'unread', path: ['list', 0] });
    expect(isSendable(state)).toBe(false);
    state = reduceForm(state, { type: 'value', path: ['lis'], value: 1 });
    expect(isSendable(state)).toBe(false);
    state = reduceForm(state, { type: 'value', path: ['list'], value: undefined });
    expect(isSendable(state)).toBe(true);
    state = reduceForm(state, { type: 'unread', path: ['other'] });
    expect(isSendable(reduceForm(state, { type: 'choice', path: [], from: 0, variant: 0, value: {} }))).toBe(
      true,
    );
  });

  describe('of a union', () => {
    const One = z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]);
    const choose = (from: number, variant: number, value: unknown, path: (string | number)[]) =>
      ({ type: 'choice', path, from, variant, value }) as const;

    it('keep what was typed in each of its forms', () => {
      let state = formState(published(z.object({ one: One })), { one: { a: 'typed' } });
      state = reduceForm(state, choose(0, 1, { b: null }, ['one']));
      expect(state.value).toEqual({ one: { b: null } });
      state = reduceForm(state, { type: 'value', path: ['one', 'b'], value: 7 });
      state = reduceForm(state, choose(1, 0, { a: '' }, ['one']));
      expect([state.value, state.text]).toEqual([{ one: { a: 'typed' } }, expect.stringContaining('typed')]);
      state = reduceForm(state, choose(0, 1, { b: null }, ['one']));
      expect(state.value).toEqual({ one: { b: 7 } });
    });

    it('keep it for its own place only', () => {
      let state = formState(published(z.array(One)), [{ a: 'first' }, { a: 'second' }]);
      state = reduceForm(state, choose(0, 1, { b: null }, [0]));
      state = reduceForm(state, { type: 'value', path: [], value: [{ b: 2 }] });
      expect(reduceForm(state, choose(1, 0, { a: '' }, [0])).value).toEqual([{ a: '' }]);
      state = reduceForm(state, { type: 'replace', value: [{ b: 3 }] });
      expect(reduceForm(state, choose(1, 0, { a: '' }, [0])).value).toEqual([{ a: '' }]);
    });
  });

  it('say what is wrong where a union stands beside members', () => {
    const schema = {
      ...{ type: 'object', required: ['who'], properties: { who: { type: 'string' } } },
      oneOf: [
        { properties: { at: { type: 'string' } }, required: ['at'] },
        { properties: { after: { type: 'number' } }, required: ['after'] },
      ],
    };
    const { problems } = formState(schema, { who: 'ada', after: 'x' }).check;
    expect(problems).toEqual([{ path: ['after'], message: 'must be a number' }]);
  });

  it('keep members that the schema does not know', () => {
    let state = reduceForm(form(), { type: 'text', text: '{"orderId":"A","x":[1],"cents":7}' });
    state = reduceForm(state, { type: 'value', path: ['cents'], value: 8 });
    expect(JSON.stringify(state.value)).toBe('{"orderId":"A","x":[1],"cents":8}');
  });

  it('take away members that are emptied, and keep the places of items', () => {
    const state = formState(null, { a: 1, list: [{ b: 1 }, 2, 3] });
    const without = (path: (string | number)[]) =>
      reduceForm(state, { type: 'value', path, value: undefined }).value;
    expect(without(['a'])).toEqual({ list: [{ b: 1 }, 2, 3] });
    expect(without(['list', 1])).toEqual({ a: 1, list: [{ b: 1 }, null, 3] });
    expect(without(['list', 0, 'b'])).toEqual({ a: 1, list: [{}, 2, 3] });
    expect(state.value).toEqual({ a: 1, list: [{ b: 1 }, 2, 3] });
  });

  it('hold names that mean something to the language', () => {
    const state = reduceForm(formState(null, {}), { type: 'value', path: ['__proto__', 'x'], value: 1 });
    expect(state.text.replace(/\s/g, '')).toBe('{"__proto__":{"x":1}}');
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('of no schema take anything', () => {
    const state = reduceForm(formState(null), { type: 'text', text: '"x"' });
    expect([state.value, isFit(state)]).toEqual(['x', true]);
    expect(readJson('  ')).toEqual({ value: undefined, error: null });
  });

  it('says so when a number would be sent as another one', () => {
    expect(readJson('{ "n": [9007199254740993] }').error).toContain('would be sent as 9007199254740992');
    expect(readJson('-12345678901234567890').error).toContain('would be sent as -12345678901234567168');
    expect(readJson('1e400').error).toContain('too large');
    const kept = '[9007199254740992, 1e21, 0.1, -0, "9007199254740993", "a \\" 9007199254740993"]';
    expect(readJson(kept)).toEqual({ value: JSON.parse(kept), error: null });
    expect([numberOf('9007199254740993'), numberOf('12')]).toEqual(['9007199254740993', 12]);
  });
});
