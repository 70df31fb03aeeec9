import { expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonSchema } from '../core/catalog.js';
import { sampleInput } from './sample.js';

const schemas: [string, z.ZodType][] = [
  [
    'required members only',
    z.object({ name: z.string().min(6), age: z.int().positive(), nick: z.string().optional() }),
  ],
  ['nested ones', z.object({ list: z.array(z.object({ kind: z.enum(['a', 'b']), on: z.boolean() })) })],
  ['formats', z.object({ site: z.url(), mail: z.email(), id: z.uuid(), at: z.iso.datetime() })],
  ['alternatives', z.union([z.object({ a: z.literal(3) }), z.string()])],
  ['null', z.null()],
  ['a text', z.string()],
];

it.each(schemas)('makes an input that fits: %s', (_what, schema) => {
  const sample = sampleInput(z.toJSONSchema(schema, { io: 'input' }) as JsonSchema);
  expect(schema.safeParse(sample).error).toBeUndefined();
});

it("takes the author's own example", () => {
  const schema = z.object({ name: z.string() }).meta({ examples: [{ name: 'Ada' }] });
  expect(sampleInput(z.toJSONSchema(schema) as JsonSchema)).toEqual({ name: 'Ada' });
});

it('ends for a schema that contains itself', () => {
  const schema: JsonSchema = { type: 'object', required: ['next'], properties: {} };
  schema.properties = { next: schema };
  expect(JSON.stringify(sampleInput(schema)).length).toBeLessThan(100);
  expect(sampleInput(null)).toEqual({});
});
