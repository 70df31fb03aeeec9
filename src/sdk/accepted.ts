/**
 * What callers may send, as a JSON Schema that everything fits which the author's schema takes.
 *
 * The schema that is published says what an author expects: zod writes a number for `z.coerce.number()`, which takes
 * texts, and the shape behind `z.preprocess()`, `.catch()` and `.trim()`, which change a value before it is looked at. A
 * door that refuses by it would refuse what the workflow takes. This one is wider wherever the parser is, so that a
 * value which does not fit it is wrong for certain. It holds nothing but keywords that widen with their parts, so a part
 * that takes anything is simply empty.
 */
import * as z from 'zod';
import type { JsonSchema } from '../core/catalog.js';
import type { Schema } from './schema.js';

type ZodSchema = z.core.$ZodType & { _zod: { def: Def } };

/** What is read of zod's definitions, which differ by type. */
interface Def {
  type: string;
  coerce?: boolean;
  checks?: { _zod: { def: CheckDef } }[];
  shape?: Record<string, ZodSchema>;
  items?: ZodSchema[];
  rest?: ZodSchema | null;
  in?: ZodSchema;
  valueType?: ZodSchema;
  mode?: string;
  values?: unknown[];
}

interface CheckDef {
  check: string;
  format?: string;
  pattern?: RegExp;
  position?: number;
}

/** Undefined for schemas of other libraries, and where zod itself can say nothing: then only the worker can tell. */
export function acceptedInput(schema: Schema): JsonSchema | undefined {
  if (schema['~standard'].vendor !== 'zod' || !('_zod' in schema)) return undefined;
  try {
    const accepted = z.toJSONSchema(schema as unknown as z.ZodType, {
      io: 'input',
      target: 'draft-2020-12',
      unrepresentable: 'any',
      metadata: ANNOTATIONS as never,
      override: ({ zodSchema, jsonSchema }) =>
        widen(zodSchema as unknown as ZodSchema, jsonSchema as JsonSchema),
    });
    const plain = JSON.parse(JSON.stringify(accepted)) as JsonSchema;
    openIntersections(plain);
    return plain;
  } catch {
    return undefined;
  }
}

/** Whether a message without a payload is taken as well. */
export function takesNothing(schema: Schema): boolean {
  const { _zod: internals } = schema as unknown as Partial<ZodSchema>;
  return internals?.optin !== undefined;
}

/** What authors say about their schemas; what of it would be a rule is none to the parser. */
const ANNOTATIONS = {
  get(schema: z.core.$ZodType): Record<string, unknown> | undefined {
    const said = z.globalRegistry.get(schema) as Record<string, unknown> | undefined;
    if (!said) return undefined;
    return Object.fromEntries(Object.entries(said).filter(([key]) => ANNOTATING.has(key)));
  },
};
const ANNOTATING = new Set(
  'id title description deprecated examples default readOnly writeOnly format $comment'.split(' '),
);

function widen(schema: ZodSchema, json: JsonSchema): void {
  const { def } = schema._zod;
  const checks = checksOf(schema);
  if (takesMore(schema)) {
    // A definition that was given a name stays one.
    for (const key of Object.keys(json)) if (key !== 'id') delete json[key];
    return;
  }
  if (def.type === 'string') keepSurePatterns(checks, json);
  if (def.type === 'object') requireOnly(json, (key) => def.shape?.[key]?._zod.optin === undefined);
  if (def.type === 'record') widenRecord(def, json);
  if (def.type === 'tuple') widenTuple(def, json);
  if (Array.isArray(json.oneOf)) {
    // Parts that were widened may overlap.
    json.anyOf = json.oneOf;
    delete json.oneOf;
  }
  // What is checked after a value was changed says nothing about the value that came in.
  if (checks.some(({ check }) => check === 'overwrite')) dropBounds(json);
}

/** Whether it looks at another value than the one that came in, or makes do with anything. */
function takesMore({ _zod: { def, toJSONSchema } }: ZodSchema): boolean {
  return (
    def.coerce === true ||
    def.type === 'catch' ||
    def.type === 'success' ||
    (def.type === 'pipe' && def.in?._zod.traits.has('$ZodTransform') === true) ||
    // Somebody says what it looks like; what it takes is not known.
    toJSONSchema !== undefined
  );
}

/** Those of a format are the schema's own. */
function checksOf({ _zod: { def, traits } }: ZodSchema): CheckDef[] {
  const checks = (def.checks ?? []).map((check) => check._zod.def);
  return traits.has('$ZodCheck') ? [def as unknown as CheckDef, ...checks] : checks;
}

/** Formats that zod checks by nothing but their pattern; for the others it is only a likeness. */
const BY_PATTERN = new Set(
  (
    'regex lowercase uppercase includes starts_with ends_with email guid uuid emoji nanoid cuid cuid2 ulid xid ksuid ' +
    'datetime date time duration ipv4 mac cidrv4 e164'
  ).split(' '),
);
/** With others a pattern means something else than its text alone. */
const SURE_FLAGS = /^[dguy]*$/;

function keepSurePatterns(checks: CheckDef[], json: JsonSchema): void {
  const sources = checks
    .filter(({ format = '', position }) => BY_PATTERN.has(format) && position === undefined)
    .flatMap(({ pattern }) => (pattern && SURE_FLAGS.test(pattern.flags) ? [pattern.source] : []));
  const unique = [...new Set(sources)];
  delete json.pattern;
  delete json.allOf;
  if (unique.length === 1) json.pattern = unique[0];
  if (unique.length > 1) json.allOf = unique.map((pattern) => ({ pattern }));
}

function requireOnly(json: JsonSchema, isRequired: (key: string) => boolean): void {
  if (!Array.isArray(json.required)) return;
  const required = (json.required as string[]).filter(isRequired);
  if (required.length > 0) json.required = required;
  else delete json.required;
}

function widenRecord(def: Def, json: JsonSchema): void {
  requireOnly(json, () => def.valueType !== undefined && refusesUndefined(def.valueType));
  if (def.mode !== 'loose') return;
  // Members whose key does not fit are taken as they are.
  for (const key of ['propertyNames', 'additionalProperties', 'patternProperties', 'required']) {
    delete json[key];
  }
}

/** Items at the end that may be left out, by what the parser does and not by what the types say. */
function widenTuple({ items = [], rest }: Def, json: JsonSchema): void {
  const isRequired = (item: ZodSchema) => item._zod.optin === undefined && (!rest || refusesUndefined(item));
  const required = items.findLastIndex(isRequired) + 1;
  if (typeof json.minItems !== 'number' || json.minItems <= required) return;
  if (required > 0) json.minItems = required;
  else delete json.minItems;
}

const DEFINITE = new Set('string number boolean null enum object array record tuple'.split(' '));

function refusesUndefined({ _zod: { def } }: ZodSchema): boolean {
  return DEFINITE.has(def.type) && def.coerce !== true;
}

const BOUNDS = (
  'minLength maxLength pattern allOf format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems ' +
  'maxItems'
).split(' ');

function dropBounds(json: JsonSchema): void {
  for (const key of BOUNDS) delete json[key];
  if (json.type === 'integer') json.type = 'number';
}

/**
 * zod refuses a member of an intersection only if no side knows it. Where it could not say so by making one object of
 * the sides, each of them says it alone.
 */
function openIntersections(schema: unknown): void {
  if (!isObject(schema)) return;
  for (const part of partsOf(schema)) openIntersections(part);
  if (Array.isArray(schema.allOf)) schema.allOf = schema.allOf.map(opened);
}

/** Values, such as those of an enum, may look like schemas and are none. */
function partsOf(schema: JsonSchema): unknown[] {
  const { properties, patternProperties, $defs, anyOf, allOf, prefixItems } = schema;
  const named = [properties, patternProperties, $defs].flatMap((parts) =>
    isObject(parts) ? Object.values(parts) : [],
  );
  const listed = [anyOf, allOf, prefixItems].flatMap((parts) => (Array.isArray(parts) ? parts : []));
  return [...named, ...listed, schema.items, schema.additionalProperties, schema.propertyNames];
}

function opened(side: unknown): unknown {
  if (!isObject(side)) return side;
  // What it leads to may be used elsewhere too.
  if ('$ref' in side) return {};
  const open = { ...side };
  // Members whose key only the other side knows are not looked at here.
  if (open.additionalProperties === false || 'propertyNames' in open) delete open.additionalProperties;
  delete open.propertyNames;
  if (Array.isArray(open.anyOf)) open.anyOf = open.anyOf.map(opened);
  return open;
}

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
