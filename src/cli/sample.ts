/** An input to try a workflow with, made from its JSON Schema: the author's own example, or the least that fits. */
import type { JsonSchema } from '../core/catalog.js';

/** Schemas may refer to themselves; nobody types in more than this by hand. */
const MAX_DEPTH = 5;

export function sampleInput(schema: JsonSchema | null): unknown {
  return schema === null ? {} : sample(schema, 0);
}

function sample(schema: JsonSchema, depth: number): unknown {
  const { examples, enum: choices, anyOf, oneOf, type } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if ('const' in schema) return schema.const;
  if ('default' in schema) return schema.default;
  if (Array.isArray(choices) && choices.length > 0) return choices[0];
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives) && alternatives.length > 0) return sample(alternatives[0], depth);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return sampleText(schema);
    case 'number':
    case 'integer':
      return sampleNumber(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return depth < MAX_DEPTH && isSchema(schema.items) ? [sample(schema.items, depth + 1)] : [];
    default:
      return depth < MAX_DEPTH ? sampleObject(schema, depth) : {};
  }
}

function sampleObject({ properties, required }: JsonSchema, depth: number): unknown {
  const members = isSchema(properties) ? Object.entries(properties) : [];
  const needed = members.filter(([name]) => Array.isArray(required) && required.includes(name));
  return Object.fromEntries(
    needed.map(([name, member]) => [name, isSchema(member) ? sample(member, depth + 1) : null]),
  );
}

function sampleText({ format, minLength }: JsonSchema): string {
  const byFormat: Record<string, string> = {
    uri: 'https://example.com',
    email: 'ada@example.com',
    'date-time': '2026-01-01T00:00:00Z',
    date: '2026-01-01',
    uuid: '00000000-0000-4000-8000-000000000000',
  };
  const text = (typeof format === 'string' ? byFormat[format] : undefined) ?? 'text';
  return typeof minLength === 'number' ? text.padEnd(Math.min(minLength, 100), 'x') : text;
}

function sampleNumber({ minimum, exclusiveMinimum }: JsonSchema): number {
  if (typeof minimum === 'number' && minimum > 0) return minimum;
  return typeof exclusiveMinimum === 'number' && exclusiveMinimum >= 1 ? Math.floor(exclusiveMinimum) + 1 : 1;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
