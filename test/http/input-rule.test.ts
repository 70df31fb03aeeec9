/**
 * The door never refuses what the workflow's own schema would take: drawn schemas of every kind that authors write, held
 * against the parser itself, for catalogs of ours and for those of other makers, who publish what comes out of a schema.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Catalog, JsonSchema, RegisteredWorkflow } from '../../src/core/catalog.js';
import { silentLog } from '../../src/core/log.js';
import type { Engine } from '../../src/engine.js';
import { StartTargets } from '../../src/http/start-target.js';
import { PayloadCheck } from '../../src/http/wire/payload-check.js';
import { workflowDefinition } from '../../src/sdk/definition.js';
import { type Schema, workflow } from '../../src/sdk/index.js';
import { register } from '../../src/worker/loading/registration.js';

interface Case {
  schema: z.ZodType;
  /** Those that may fit, and those that do not. */
  value: fc.Arbitrary<unknown>;
}

const json = fc.jsonValue({ maxDepth: 1 });
/** Near misses: what a coercion takes, what a trim makes right, what is almost there. */
const oddity = fc.constantFrom<unknown>(
  ...[
    '',
    ' ',
    '5',
    ' 5 ',
    '-1',
    '1.5',
    'x',
    'A',
    'ABC',
    ' abc ',
    'true',
    'no',
    'a@b.co',
    ' A@B.CO ',
    '😀',
    '😀😀',
  ],
  ...['2026-01-02T03:04:05Z', '2026-01-02', 'a\nb', '::1', '1e3'],
  ...[0, 1, -1, 5, 1.5, 1e21, true, false, null, [], {}, [5], ['x'], { a: 1 }, { kind: 'a' }],
);
const mostly = (fitting: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 5, arbitrary: fitting },
    { weight: 2, arbitrary: oddity },
    { weight: 1, arbitrary: json },
  );

const text = fc.oneof(fc.string({ maxLength: 6 }), oddity);
const leaf = (schema: () => z.ZodType, fitting: fc.Arbitrary<unknown>): Case => ({
  schema: schema(),
  value: mostly(fitting),
});

const TREE = z.strictObject({
  a: z.coerce.number(),
  get more() {
    return z.array(TREE).optional();
  },
});
type Cell = { head: string; tail: Cell | null };
const LIST: z.ZodType<Cell | null> = z
  .lazy(() => z.object({ head: z.string(), tail: LIST.default(null) }))
  .nullable()
  .meta({ id: 'List' });

const leaves: fc.Arbitrary<Case> = fc
  .constantFrom<[() => z.ZodType, fc.Arbitrary<unknown>]>(
    [() => z.string(), text],
    [() => z.string().min(2).max(4), text],
    [() => z.string().trim().max(3), text],
    [
      () =>
        z
          .string()
          .toLowerCase()
          .regex(/^[a-z]+$/),
      text,
    ],
    [() => z.string().regex(/^a+$/i), text],
    [() => z.string().regex(/^..$/), text],
    [() => z.string().regex(/^.$/u), text],
    [() => z.string().includes('b', { position: 1 }), text],
    [() => z.string().startsWith('a').endsWith('b'), text],
    [() => z.string().trim().email(), text],
    [() => z.email(), text],
    [() => z.ipv6(), text],
    [() => z.base64(), text],
    [() => z.iso.datetime(), text],
    [() => z.iso.date(), text],
    [() => z.string().refine((value) => value.length !== 3), text],
    [() => z.string().transform((value) => value.length), text],
    [() => z.string().transform(Number).pipe(z.number()), text],
    [() => z.stringbool(), fc.constantFrom('true', 'NO', 'on', '1')],
    [() => z.string().meta({ maxLength: 1, pattern: '^z$', title: 'a text' }), text],
    [() => z.number(), fc.integer()],
    [() => z.number().int().min(-2).max(9), fc.integer({ min: -4, max: 12 })],
    [() => z.number().multipleOf(0.1), fc.integer({ max: 99 }).map((n) => n / 10)],
    [() => z.number().overwrite(Math.round).int(), fc.double({ min: 0, max: 9 })],
    [() => z.int32(), fc.integer()],
    [() => z.boolean(), fc.boolean()],
    [() => z.null(), fc.constant(null)],
    [() => z.any(), json],
    [() => z.unknown(), json],
    [() => z.never(), json],
    [() => z.enum(['A', 'x', '5']), text],
    [() => z.literal([1, 'x', null]), oddity],
    [() => z.templateLiteral(['v', z.number()]), fc.constantFrom('v1', 'v-2.5', 'v', '1')],
    [() => z.coerce.number(), oddity],
    [() => z.coerce.number().min(3).optional(), oddity],
    [() => z.coerce.string().max(3), oddity],
    [() => z.coerce.boolean(), oddity],
    [() => z.coerce.date(), oddity],
    [() => z.coerce.bigint(), oddity],
    [() => z.date(), oddity],
    [
      () =>
        z.codec(z.iso.datetime(), z.date(), { decode: (s) => new Date(s), encode: (d) => d.toISOString() }),
      text,
    ],
    [() => z.preprocess((value) => String(value).trim(), z.string().max(3)), oddity],
    [() => z.preprocess((value) => (value === undefined ? 1 : value), z.number()), oddity],
    [() => z.number().catch(1), oddity],
    [() => z.string().default('x'), text],
    [() => z.string().prefault('x'), text],
    [() => z.strictObject({ a: z.number() }).catch({ a: 1 }), oddity],
    [() => z.json(), json],
    [() => z.url(), fc.constantFrom('https://a.example', ' https://a.example ', 'x')],
    [() => z.url({ normalize: true }).max(19), fc.constantFrom(' https://a.example ', 'https://a.example/')],
    [() => z.uuid(), fc.uuid()],
    [() => z.uuid(), fc.uuid().map((id) => id.toUpperCase())],
    [() => z.hex(), fc.constantFrom('00ff', 'FF', 'xy')],
    [() => z.stringFormat('even', (value) => value.length % 2 === 0), text],
    [() => z.string().normalize().length(1), fc.constantFrom('e\u0301', 'é')],
    [() => z.string().nonempty().or(z.undefined()), text],
    [() => z.custom<string>((value) => value !== 'x'), oddity],
    [() => z.nan(), json],
    [() => z.undefined(), json],
    [() => z.string().optional().nonoptional(), text],
    [() => z.string().brand('Id').readonly(), text],
    [() => z.number().lt(5).gt(-5).or(z.bigint()), fc.integer({ min: -9, max: 9 })],
    [() => z.set(z.string()), json],
    [() => z.looseObject({ a: z.string().exactOptional() }), fc.record({ a: text }, { requiredKeys: [] })],
    [
      () => TREE,
      fc.constantFrom({ a: 1 }, { a: '1', more: [{ a: 2 }] }, { a: 1, more: [{}] }, { a: 1, more: 5 }),
    ],
    [
      () => LIST,
      fc.constantFrom(null, { head: 'x', tail: null }, { head: 'x', tail: { head: 5, tail: null } }),
    ],
  )
  .map(([schema, fitting]) => leaf(schema, fitting));

let lastId = 0;
const keys = ['a', 'b', 'kind'] as const;

const objectOf = (make: (shape: Record<string, z.ZodType>) => z.ZodType) => (members: Case[]) => ({
  schema: make(Object.fromEntries(members.map(({ schema }, i) => [keys[i], schema]))),
  value: mostly(
    fc.record(
      {
        ...Object.fromEntries(members.map(({ value }, i) => [keys[i], value])),
        more: json,
      },
      { requiredKeys: [] },
    ),
  ),
});

const { drawn } = fc.letrec<{ drawn: Case; inner: Case }>((tie) => {
  const one = tie('inner');
  const some = fc.array(one, { minLength: 1, maxLength: 3 });
  const two = fc.tuple(one, one);
  const wrap = (make: (schema: z.ZodType) => z.ZodType, fitting?: fc.Arbitrary<unknown>) =>
    one.map(({ schema, value }) => ({ schema: make(schema), value: fitting ? mostly(fitting) : value }));
  const objects = [
    (shape: Record<string, z.ZodType>) => z.object(shape),
    (shape: Record<string, z.ZodType>) => z.strictObject(shape),
    (shape: Record<string, z.ZodType>) => z.looseObject(shape),
    (shape: Record<string, z.ZodType>) => z.object(shape).catchall(z.coerce.number()),
    (shape: Record<string, z.ZodType>) => z.object(shape).partial(),
    (shape: Record<string, z.ZodType>) => z.object(shape).transform((value) => Object.keys(value)),
  ].map((make) => some.map(objectOf(make)));
  return {
    inner: fc.oneof({ maxDepth: 3, withCrossShrink: true, depthIdentifier: 'zod' }, leaves, tie('drawn')),
    drawn: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'zod' },
      leaves,
      ...objects,
      ...objects,
      wrap((schema) => schema.optional()),
      wrap((schema) => schema.nullable()),
      wrap((schema) => schema.nullish().default(null)),
      wrap((schema) => schema.readonly()),
      wrap((schema) => z.lazy(() => schema)),
      wrap((schema) => schema.catch(null)),
      wrap((schema) => schema.refine(() => true)),
      wrap((schema) => schema.pipe(z.transform(() => 1))),
      wrap((schema) => z.preprocess((value) => (value === 'x' ? null : value), schema)),
      wrap((schema) => schema.meta({ id: `Part${++lastId}` })),
      one.map(({ schema, value }) => ({
        schema: z.array(schema).max(2),
        value: mostly(fc.array(value, { maxLength: 3 })),
      })),
      one.map(({ schema, value }) => ({
        schema: z
          .array(schema)
          .overwrite((list) => list.slice(0, 1))
          .max(1),
        value: mostly(fc.array(value, { maxLength: 3 })),
      })),
      two.map(([a, b]) => ({
        schema: z.tuple([a.schema, b.schema]),
        value: mostly(fc.oneof(fc.tuple(a.value, b.value), fc.tuple(a.value))),
      })),
      two.map(([a, b]) => ({
        schema: z.tuple([a.schema], b.schema),
        value: mostly(fc.oneof(fc.tuple(a.value, b.value), fc.constant([]))),
      })),
      two.map(([a, b]) => ({ schema: z.union([a.schema, b.schema]), value: fc.oneof(a.value, b.value) })),
      two.map(([a, b]) => ({ schema: z.xor([a.schema, b.schema]), value: fc.oneof(a.value, b.value) })),
      two.map(([a, b]) => ({
        schema: z.intersection(a.schema, b.schema),
        value: fc.oneof(a.value, b.value),
      })),
      two.map(([a, b]) => {
        const left = z.strictObject({ a: a.schema });
        return {
          schema: z.intersection(
            left,
            z.union([z.strictObject({ b: b.schema }), z.record(z.enum(['b']), b.schema)]),
          ),
          value: mostly(fc.record({ a: a.value, b: b.value }, { requiredKeys: [] })),
        };
      }),
      two.map(([a, b]) => ({
        schema: z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('a'), a: a.schema }),
          z.strictObject({ kind: z.enum(['b', 'c']), b: b.schema }),
        ]),
        value: mostly(
          fc.record({ kind: fc.constantFrom('a', 'b', 'c'), a: a.value, b: b.value }, { requiredKeys: [] }),
        ),
      })),
      ...[
        (value: z.ZodType) => z.record(z.string(), value),
        (value: z.ZodType) => z.record(z.string().regex(/^a/i), value),
        (value: z.ZodType) => z.record(z.enum(['a', 'b']), value),
        (value: z.ZodType) => z.partialRecord(z.enum(['a', 'b']), value),
        (value: z.ZodType) => z.looseRecord(z.string().regex(/^a/), value),
        (value: z.ZodType) => z.record(z.coerce.number(), value),
        (value: z.ZodType) => z.record(z.int(), value),
      ].map((make) =>
        one.map(({ schema, value }) => ({
          schema: make(schema),
          value: mostly(
            fc.dictionary(fc.constantFrom('a', 'b', 'A', '1', '1e3', 'more'), value, { maxKeys: 2 }),
          ),
        })),
      ),
    ),
  };
});

/** As a worker of ours registers it. */
function ours(schema: z.ZodType): RegisteredWorkflow {
  const made = workflow({ name: 'drawn', inputSchema: schema, fn: async () => {} });
  return register(
    { file: 'workflow.ts', exportName: 'default', definition: workflowDefinition(made)! },
    [],
    [],
  );
}

/** As another maker's does: what comes out of the schema, in a catalog that says nothing else. */
function theirs(schema: z.ZodType, io: 'input' | 'output'): RegisteredWorkflow {
  const inputSchema = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema;
  const nothing = { aliases: [], steps: [], signals: [], queries: [], updates: [] };
  return {
    entry: { name: 'drawn', description: null, path: '', inputSchema, outputSchema: null, ...nothing },
    settings: {},
    declaresSignals: false,
  };
}

const payloads = new PayloadCheck(silentLog);

/** What a start with that input is told at the door. */
async function refusal(registered: RegisteredWorkflow, input: unknown): Promise<unknown> {
  const catalog: Catalog = { catalog: 'c', workflows: [registered] };
  const engine = { catalog: async () => catalog } as unknown as Engine;
  return new StartTargets(engine, payloads).resolve('c', 'drawn', input).then(
    () => undefined,
    (error: unknown) => error,
  );
}

function takes(schema: z.ZodType, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    // What two sides of an intersection make of a value may not go together.
    return false;
  }
}

describe('what the schema of a workflow takes, the door lets through', () => {
  test('whatever the schema, in every catalog', async () => {
    const seen = { taken: 0, refused: 0, takenAgainstWhatIsPublished: 0 };
    const inexact = (registered: RegisteredWorkflow): RegisteredWorkflow => ({
      ...registered,
      accepts: { input: {} },
    });
    await fc.assert(
      fc.asyncProperty(
        drawn.chain(({ schema, value }) => fc.tuple(fc.constant(schema), fc.array(value, { maxLength: 8 }))),
        async ([schema, values]) => {
          const own = ours(schema);
          for (const drawnValue of values) {
            // As it arrives.
            const value = JSON.parse(JSON.stringify(drawnValue)) as unknown;
            const told = await refusal(own, value);
            if (!takes(schema, value)) {
              if (told !== undefined) seen.refused++;
              continue;
            }
            seen.taken++;
            expect([value, told]).toEqual([value, undefined]);
            for (const io of ['input', 'output'] as const) {
              const published = theirs(schema, io);
              expect(await refusal(published, value)).toBeUndefined();
              if ((await refusal(inexact(published), value)) !== undefined)
                seen.takenAgainstWhatIsPublished++;
            }
          }
        },
      ),
      { numRuns: 1_500, seed: 5 },
    );
    expect(seen.taken).toBeGreaterThan(1_000);
    expect(seen.refused).toBeGreaterThan(1_000);
    expect(seen.takenAgainstWhatIsPublished).toBeGreaterThan(200);
  }, 120_000);
});

test('a schema of another library is left to the worker: what it says is what its maker expects', async () => {
  const schema: Schema & { toJsonSchema(): object } = {
    '~standard': { version: 1, vendor: 'another', validate: (value) => ({ value }) },
    toJsonSchema: () => ({ type: 'number' }),
  };
  const registered = ours(schema as never);
  expect(registered.entry.inputSchema).toEqual({ type: 'number' });
  expect(await refusal(registered, 'five')).toBeUndefined();
});

describe('what is plainly wrong is refused at the door, in catalogs of ours', () => {
  const order = z.object({
    id: z.string(),
    count: z.coerce.number().default(1),
    note: z.string().trim().max(3).optional(),
    tags: z.array(z.enum(['x', 'y'])).default([]),
    buyer: z.strictObject({ name: z.string().min(1) }).optional(),
  });

  test.each<[string, unknown, (string | number)[]]>([
    ['a required field of another type', { id: 5 }, ['input', 'id']],
    ['a required field that is missing', {}, ['input', 'id']],
    ['something else altogether', 'text', ['input']],
    ['a text that is none, whatever is done to it', { id: 'a', note: 5 }, ['input', 'note']],
    ['an item', { id: 'a', tags: ['x', 'z'] }, ['input', 'tags', 1]],
    [
      'an unknown member of a strict object',
      { id: 'a', buyer: { name: 'b', nmae: 1 } },
      ['input', 'buyer', 'nmae'],
    ],
  ])('%s', async (_what, input, path) => {
    expect(order.safeParse(input).success).toBe(false);
    expect(await refusal(ours(order), input)).toMatchObject({
      name: 'ValidationError',
      details: { issues: [{ path }] },
    });
  });

  test('and nothing else is', async () => {
    for (const input of [{ id: 'a' }, { id: 'a', count: '7', note: '  abc  ', more: 1 }]) {
      expect(await refusal(ours(order), input)).toBeUndefined();
    }
  });
});
