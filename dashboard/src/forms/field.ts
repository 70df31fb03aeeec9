/**
 * What a schema looks like as a field of a form. One level at a time: fields inside are made when they are shown, so a
 * schema that contains itself is as deep as its value.
 */
import { asSchema, isObject, type JsonSchema, resolved, type SchemaAt, schemasOf } from './schema.js';

interface Common {
  title: string | null;
  description: string | null;
  isNullable: boolean;
  isDeprecated: boolean;
  /** Undefined where there is none; null is one. */
  default: unknown;
}

export interface Member {
  name: string;
  schema: JsonSchema;
  isRequired: boolean;
}

export interface TextField extends Common {
  kind: 'text';
  format: string | null;
  minLength: number | null;
  maxLength: number | null;
}
export interface NumberField extends Common {
  kind: 'number';
  isInteger: boolean;
  minimum: number | null;
  maximum: number | null;
  /** The same, without the limit itself. */
  moreThan: number | null;
  lessThan: number | null;
  multipleOf: number | null;
}
export interface ChoiceField extends Common {
  kind: 'choice';
  choices: unknown[];
}
export interface ConstantField extends Common {
  kind: 'constant';
  value: unknown;
}
export interface ObjectField extends Common {
  kind: 'object';
  members: Member[];
  /** What members of other names are, and which names there may be where only some may. */
  others: { schema: JsonSchema; names: string[] | null } | null;
}
export interface ListField extends Common {
  kind: 'list';
  /** The first items, each with a schema of its own. */
  first: JsonSchema[];
  /** All further ones; null where there may be none. */
  items: JsonSchema | null;
  minItems: number;
  maxItems: number;
}
export interface UnionField extends Common {
  kind: 'union';
  variants: JsonSchema[];
  /** The member whose constant tells which one it is. */
  discriminator: string | null;
}
export interface PlainField extends Common {
  kind: 'boolean' | 'null' | 'json';
}

export type Field =
  | TextField
  | NumberField
  | ChoiceField
  | ConstantField
  | ObjectField
  | ListField
  | UnionField
  | PlainField;

export function fieldOf(at: SchemaAt): Field {
  const schema = resolved(at);
  if (schema === undefined) return { ...common(at.schema, false), kind: 'json' };
  const { root } = at;
  const { alternatives, isNullable } = alternativesOf({ schema, root });
  const [only] = alternatives;
  const about = common(schema, isNullable);
  if (only === undefined) return { ...about, kind: isNullable ? 'null' : 'json' };
  if (alternatives.length > 1) return unionOf(alternatives, about, root);
  // The words of the schema around an only alternative come first.
  const inner =
    only === schema ? ({ ...about, ...shapeOf(schema, root) } as Field) : fieldOf({ schema: only, root });
  return {
    ...inner,
    title: about.title ?? inner.title,
    description: about.description ?? inner.description,
    default: about.default === undefined ? inner.default : about.default,
    isNullable: about.isNullable || inner.isNullable,
    isDeprecated: about.isDeprecated || inner.isDeprecated,
  };
}

/** What the value may be, null left out, and whether it may be null. */
function alternativesOf({ schema, root }: SchemaAt): { alternatives: JsonSchema[]; isNullable: boolean } {
  const keyword = ['anyOf', 'oneOf'].find((name) => Array.isArray(schema[name]));
  if (keyword !== undefined) {
    const { [keyword]: listed, ...around } = schema;
    const all = schemasOf(listed);
    // That one of several members has to be there says nothing of what they are.
    if (all.length > 0 && all.every(isCondition)) return alternativesOf({ schema: around, root });
    const rest = all.filter((one) => !isNull(resolved({ schema: one, root }) ?? one));
    return { alternatives: rest.map((one) => within(around, one)), isNullable: rest.length < all.length };
  }
  const { type } = schema;
  if (!Array.isArray(type)) return { alternatives: [schema], isNullable: false };
  const types = type.filter((name) => name !== 'null');
  // "number" takes what "integer" takes.
  const distinct = types.filter((name) => name !== 'integer' || !types.includes('number'));
  const listsNull = !Array.isArray(schema.enum) || schema.enum.includes(null);
  const isNullable = types.length < type.length && listsNull;
  const choices = Array.isArray(schema.enum)
    ? schema.enum.filter((value) => value !== null || !isNullable)
    : undefined;
  // An enumeration is a choice, whatever the types of its values are.
  if (choices) return { alternatives: [{ ...schema, type: distinct[0], enum: choices }], isNullable };
  return { alternatives: distinct.map((name) => ({ ...schema, type: name })), isNullable };
}

function isNull({ type, const: only, enum: some }: JsonSchema): boolean {
  const isAll = (list: unknown, one: unknown) =>
    Array.isArray(list) && list.length > 0 && list.every((each) => each === one);
  return type === 'null' || isAll(type, 'null') || only === null || isAll(some, null);
}

/** Which members have to be there, and nothing about them. */
const CONDITIONS = new Set(['required', 'dependentRequired', 'not', 'minProperties', 'maxProperties']);
const isCondition = (schema: JsonSchema): boolean => {
  const keywords = Object.keys(schema);
  return keywords.length > 0 && keywords.every((keyword) => CONDITIONS.has(keyword));
};

/** What is about a schema, or about what is around all of its alternatives, and not about their values. */
const WORDS = new Set([
  ...['$schema', '$id', '$anchor', '$defs', '$comment', 'definitions', 'title', 'description', 'default'],
  ...['examples', 'deprecated', 'readOnly', 'writeOnly', 'discriminator'],
]);

/** The alternative with what stands beside the union, which holds for each of them. */
function within(around: JsonSchema, alternative: JsonSchema): JsonSchema {
  const shared = Object.fromEntries(Object.entries(around).filter(([keyword]) => !WORDS.has(keyword)));
  return Object.keys(shared).length === 0 ? alternative : { ...shared, allOf: [alternative] };
}

function unionOf(variants: JsonSchema[], about: Common, root: JsonSchema): Field {
  const constants = variants.map((schema) => resolved({ schema, root })?.const);
  // A union of constants is how some makers write an enumeration.
  if (constants.every((value) => value !== undefined))
    return { ...about, kind: 'choice', choices: constants };
  return { ...about, kind: 'union', variants, discriminator: discriminatorOf(variants, root) };
}

function discriminatorOf(variants: JsonSchema[], root: JsonSchema): string | null {
  const members = variants.map((schema) => {
    const properties = resolved({ schema, root })?.properties;
    return isObject(properties) ? properties : {};
  });
  const isConstant = (schema: unknown) => {
    const { const: value, enum: values } =
      (asSchema(schema) && resolved({ schema: asSchema(schema)!, root })) ?? {};
    return value !== undefined || (Array.isArray(values) && values.length > 0);
  };
  const names = Object.keys(members[0] ?? {});
  return names.find((name) => members.every((of) => isConstant(of[name]))) ?? null;
}

/** The part of a field that is only of its kind. */
type ShapeIn<F> = F extends Common ? Omit<F, keyof Common> : never;
type Shape = ShapeIn<Field>;

function shapeOf(schema: JsonSchema, root: JsonSchema): Shape {
  if (schema.const !== undefined) return { kind: 'constant', value: schema.const };
  if (Array.isArray(schema.enum)) return { kind: 'choice', choices: schema.enum };
  switch (schema.type ?? impliedType(schema)) {
    case 'string':
      return {
        kind: 'text',
        format: text(schema.format) ?? null,
        minLength: number(schema.minLength),
        maxLength: number(schema.maxLength),
      };
    case 'number':
    case 'integer':
      return {
        kind: 'number',
        isInteger: schema.type === 'integer',
        minimum: number(schema.minimum),
        maximum: number(schema.maximum),
        moreThan: number(schema.exclusiveMinimum),
        lessThan: number(schema.exclusiveMaximum),
        multipleOf: number(schema.multipleOf),
      };
    case 'boolean':
      return { kind: 'boolean' };
    case 'null':
      return { kind: 'null' };
    case 'object':
      return objectOf(schema, root);
    case 'array':
      return {
        kind: 'list',
        // Older schemas have those of a tuple as `items`.
        first: schemasOf(Array.isArray(schema.items) ? schema.items : schema.prefixItems),
        items:
          schema.items === undefined || Array.isArray(schema.items) ? {} : (asSchema(schema.items) ?? null),
        minItems: number(schema.minItems) ?? 0,
        maxItems: number(schema.maxItems) ?? Number.POSITIVE_INFINITY,
      };
    default:
      return { kind: 'json' };
  }
}

/** Schemas written by hand often leave out the type where the rest tells it. */
function impliedType({ properties, items, prefixItems }: JsonSchema): string | undefined {
  if (properties !== undefined) return 'object';
  return items !== undefined || prefixItems !== undefined ? 'array' : undefined;
}

function objectOf(schema: JsonSchema, root: JsonSchema): Shape {
  const { properties, required, additionalProperties, patternProperties, propertyNames } = schema;
  const needed = new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []);
  const pattern = isObject(patternProperties) ? Object.values(patternProperties)[0] : undefined;
  // An object of which nothing is said may have anything.
  const isOpen = properties === undefined && additionalProperties === undefined;
  const rest = asSchema(additionalProperties) ?? asSchema(pattern) ?? (isOpen ? {} : undefined);
  const members = Object.entries(isObject(properties) ? properties : {})
    // What may not be there has no field.
    .filter(([, member]) => member !== false)
    .map(([name, member]) => ({
      name,
      schema: asSchema(member) ?? {},
      isRequired: needed.delete(name),
    }));
  // Names that are required and described nowhere else: a record with fixed names, for one.
  for (const name of needed) members.push({ name, schema: rest ?? {}, isRequired: true });
  const allowed = asSchema(propertyNames) && resolved({ schema: asSchema(propertyNames)!, root })?.enum;
  const names = Array.isArray(allowed)
    ? allowed.filter((name) => typeof name === 'string' && members.every((member) => member.name !== name))
    : null;
  const hasOthers = rest !== undefined && names?.length !== 0;
  return { kind: 'object', members, others: hasOthers ? { schema: rest, names } : null };
}

function common(schema: JsonSchema, isNullable: boolean): Common {
  return {
    title: text(schema.title) ?? null,
    description: text(schema.description) ?? null,
    isNullable,
    isDeprecated: schema.deprecated === true,
    default: schema.default,
  };
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
