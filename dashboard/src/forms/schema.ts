/**
 * JSON Schemas (2020-12) as they come out of a catalog, read for a form: references followed, what is spread over
 * several schemas put together. What cannot be understood is undefined, and is edited as JSON.
 */

export type JsonSchema = Record<string, unknown>;

/** A place in a schema, with the document that its references point into. */
export interface SchemaAt {
  schema: JsonSchema;
  root: JsonSchema;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A schema may be a boolean: true takes anything. */
export const asSchema = (value: unknown): JsonSchema | undefined =>
  value === true ? {} : isObject(value) ? value : undefined;

export const schemasOf = (value: unknown): JsonSchema[] =>
  Array.isArray(value) ? value.map(asSchema).filter((schema) => schema !== undefined) : [];

/** References that lead to references; a schema that needs more goes in a circle. */
const MAX_REFERENCES = 32;

/** The schema with its references followed and `allOf` put together, or undefined where that cannot be done. */
export function resolved({ schema, root }: SchemaAt, references = 0): JsonSchema | undefined {
  const { $ref, allOf, ...own } = schema;
  let result: JsonSchema | undefined = own;
  if ($ref !== undefined) {
    if (typeof $ref !== 'string' || references >= MAX_REFERENCES) return undefined;
    const target = asSchema(atPointer(root, $ref));
    const inner = target && resolved({ schema: target, root }, references + 1);
    result = inner && together(inner, result);
  }
  for (const part of schemasOf(allOf)) {
    const inner = resolved({ schema: part, root }, references + 1);
    result = inner && result && together(result, inner);
  }
  return result;
}

/** What both say. What is said twice is taken from the second, whose words are nearer to the reader. */
function together(first: JsonSchema, second: JsonSchema): JsonSchema {
  const both = { ...first, ...second };
  if (isObject(first.properties) && isObject(second.properties))
    both.properties = { ...first.properties, ...second.properties };
  if (Array.isArray(first.required) && Array.isArray(second.required))
    both.required = [...new Set([...first.required, ...second.required])];
  return both;
}

/** What a reference within the document points to: `#`, or `#/` and a JSON pointer. */
function atPointer(root: JsonSchema, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  return pointerSteps(reference).reduce<unknown>(
    (value, key) =>
      (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    root,
  );
}

/** The keys of a JSON pointer in the form of a fragment. */
export function pointerSteps(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
