/** What a form begins with: defaults, and of the rest what it cannot be without. */
import { fieldOf } from './field.js';
import { isObject, type JsonSchema, type SchemaAt } from './schema.js';

/** A schema may require itself; nobody fills in more by hand. */
const MAX_DEPTH = 6;

/** Undefined where only the person who fills it in can know. */
export function startingValue(at: SchemaAt, depth = 0): unknown {
  const field = fieldOf(at);
  if (field.default !== undefined) return structuredClone(field.default);
  if (field.kind === 'constant') return field.value;
  if (field.isNullable || field.kind === 'null') return null;
  if (depth > MAX_DEPTH) return undefined;
  const inside = (schema: JsonSchema) => startingValue({ schema, root: at.root }, depth + 1);
  switch (field.kind) {
    case 'text':
      return '';
    case 'boolean':
      return false;
    case 'object': {
      const known = field.members
        .filter(({ schema, isRequired }) => isRequired || hasDefault({ schema, root: at.root }))
        .map(({ name, schema }) => [name, inside(schema)] as const);
      return Object.fromEntries(known.filter(([, value]) => value !== undefined));
    }
    case 'list': {
      const { first, items, minItems } = field;
      const more = Math.min(Math.max(0, minItems - first.length), 10);
      const schemas = [...first, ...Array<JsonSchema>(more).fill(items ?? {})];
      return schemas.map((schema) => inside(schema) ?? null);
    }
    case 'union':
      return inside(field.variants[0]!);
    default:
      return undefined;
  }
}

const hasDefault = (at: SchemaAt): boolean => fieldOf(at).default !== undefined;

/** The author's own examples. */
export function examplesOf(schema: JsonSchema | null): unknown[] {
  return schema !== null && isObject(schema) && Array.isArray(schema.examples) ? schema.examples : [];
}
