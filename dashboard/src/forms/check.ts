/**
 * Holds a value against a schema, and says what is wrong where in the form. The validator interprets the schema:
 * one that makes code of it would be stopped by the page's content security policy.
 */
import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { type Field, fieldOf } from './field.js';
import { asSchema, isObject, type JsonSchema, pointerSteps, resolved, schemasOf } from './schema.js';
import { type Path, pathKey, valueAt } from './value.js';
import { type Choices, variantOf } from './variant.js';
import { problemText } from './words.js';

export interface Problem {
  path: Path;
  /** Goes on from the name of the field: "must be a number". */
  message: string;
}

export interface Check {
  problems: Problem[];
  /** Why the schema could not be held against anything; then only the service can tell. */
  unable: string | null;
}

export type Checker = (value: unknown, choices?: Choices) => Check;

/** Those that only say that something inside does not fit, which is told there. */
const AROUND = new Set([
  ...['$ref', '$recursiveRef', 'allOf', 'properties', 'patternProperties', 'prefixItems', 'items', 'if'],
  ...['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'dependentSchemas'],
]);

export function checkerOf(schema: JsonSchema | null): Checker {
  if (schema === null) return () => ({ problems: [], unable: null });
  let validator: Validator;
  try {
    // The validator writes into the schema that it is given.
    validator = new Validator(structuredClone(schema), '2020-12', false);
  } catch (error) {
    return () => ({ problems: [], unable: messageOf(error) });
  }
  return (value, choices = {}) => {
    if (value === undefined) return { problems: [{ path: [], message: 'is required' }], unable: null };
    try {
      const { valid, errors } = validator.validate(value);
      return { problems: valid ? [] : problemsOf(errors, { schema, value, choices }), unable: null };
    } catch (error) {
      // A pattern that is none here, or a reference into another document.
      return { problems: [], unable: messageOf(error) };
    }
  };
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!;

interface Checked {
  schema: JsonSchema;
  value: unknown;
  choices: Choices;
}

function problemsOf(errors: OutputUnit[], checked: Checked): Problem[] {
  const meant = errors.filter((unit) => isMeant(unit, checked));
  const found = new Map<string, Problem>();
  for (const unit of meant.filter(({ keyword }) => !AROUND.has(keyword) && !isUnion(keyword)))
    add(found, problemOf(unit, checked));
  // That none of the variants fits is worth telling only where nothing inside the meant one says more.
  for (const unit of meant.filter(({ keyword }) => isUnion(keyword))) {
    const path = pathOf(unit, checked.value);
    const isTold = [...found.values()].some((problem) =>
      path.every((key, index) => problem.path[index] === key),
    );
    if (!isTold) add(found, problemOf(unit, checked));
  }
  if (found.size === 0) add(found, { path: [], message: 'does not fit the schema' });
  return inOrder([...found.values()], checked.schema);
}

const isUnion = (keyword: string): boolean => keyword === 'anyOf' || keyword === 'oneOf';

/** One problem for each place: the first is the one to mend first. */
function add(found: Map<string, Problem>, problem: Problem): void {
  const key = pathKey(problem.path);
  if (!found.has(key)) found.set(key, problem);
}

function problemOf(unit: OutputUnit, { schema, value }: Checked): Problem {
  const path = pathOf(unit, value);
  const around = unit.keyword === 'false' ? undefined : schemaAround(unit.keywordLocation, schema);
  const missing = /required property "(.*)"\.$/s.exec(unit.error)?.[1];
  if (unit.keyword === 'required' && missing !== undefined)
    return { path: [...path, missing], message: 'is required' };
  const name = /^Property name "(.*)" does/s.exec(unit.error)?.[1];
  if (unit.keyword === 'propertyNames' && name !== undefined)
    return { path: [...path, name], message: 'is not a name that is allowed here' };
  if (/\(([2-9]|\d\d+) matches\)/.test(unit.error))
    return { path, message: 'fits more than one of the forms that are allowed here' };
  const field = isUnion(unit.keyword) && around ? fieldOf({ schema: around, root: schema }) : undefined;
  if (field?.kind === 'choice')
    return { path, message: problemText('enum', { enum: field.choices }, undefined)! };
  return { path, message: problemText(unit.keyword, around ?? {}, valueAt(value, path)) ?? unit.error };
}

/** The validator writes keys of lists and of objects alike; the value tells which is which. */
function pathOf({ instanceLocation }: OutputUnit, value: unknown): Path {
  const path: (string | number)[] = [];
  let inner = value;
  for (const step of pointerSteps(instanceLocation)) {
    const key = Array.isArray(inner) ? Number(step) : step;
    path.push(key);
    inner =
      isObject(inner) || Array.isArray(inner) ? (inner as Record<string | number, unknown>)[key] : undefined;
  }
  return path;
}

/** Keywords of whose schemas there are several, so that a key follows in a location. */
const KEYED = new Set([
  ...['properties', 'patternProperties', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'dependentSchemas'],
]);
/** Those that lead one level into the value. */
const INWARDS = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties'],
  ...['prefixItems', 'items', 'unevaluatedItems', 'contains'],
]);

interface Passed {
  around: JsonSchema;
  keyword: string;
  /** Which of the keyword's schemas the location goes on into, where there are several. */
  key: string | undefined;
  /** How deep in the value it stands. */
  depth: number;
}

/** The keywords that a location goes through, each with the schema around it; references are followed. */
function* passedThrough(location: string, root: JsonSchema): Generator<Passed> {
  const steps = pointerSteps(location);
  let around: JsonSchema | undefined = root;
  let depth = 0;
  for (let index = 0; index < steps.length && around; index++) {
    const keyword: string = steps[index]!;
    const key: string | undefined = KEYED.has(keyword) ? steps[++index] : undefined;
    yield { around, keyword, key, depth };
    const inner: unknown =
      keyword === '$ref' ? resolved({ schema: { $ref: around.$ref }, root }) : around[keyword];
    around = asSchema(key === undefined ? inner : (inner as JsonSchema | undefined)?.[key]);
    if (INWARDS.has(keyword)) depth++;
  }
}

/** The schema that the keyword at the location stands in. */
function schemaAround(location: string, root: JsonSchema): JsonSchema | undefined {
  return [...passedThrough(location, root)].at(-1)?.around;
}

/** Whether an error is of the variant that the value is meant for, in every union on the way to it. */
function isMeant(unit: OutputUnit, checked: Checked): boolean {
  if (unit.keyword === 'false') return true;
  const path = pathOf(unit, checked.value);
  for (const { around, keyword, key, depth } of passedThrough(unit.keywordLocation, checked.schema)) {
    if (!isUnion(keyword) || key === undefined) continue;
    if (!isVariant(around, keyword, Number(key), path.slice(0, depth), checked)) return false;
  }
  return true;
}

function isVariant(
  around: JsonSchema,
  keyword: string,
  variant: number,
  path: Path,
  { schema: root, value, choices }: Checked,
): boolean {
  const all = schemasOf(around[keyword]);
  const here = valueAt(value, path);
  // The form leaves null out of its variants, so they are told by what they are and not by their number.
  const others = all.filter((one) => fieldOf({ schema: one, root }).kind !== 'null');
  if (here === null || others.length < 2) return others.length !== 1 || others[0] === all[variant];
  const { anyOf: _anyOf, oneOf: _oneOf, ...beside } = around;
  const field = fieldOf({ schema: { ...beside, anyOf: others }, root });
  // Of constants, none is more meant than another.
  if (field.kind !== 'union') return false;
  return others[variantOf(field, here, { root, path, choices })] === all[variant];
}

/** As the form shows them, so that the first one is the one that a person comes to first. */
function inOrder(problems: Problem[], root: JsonSchema): Problem[] {
  const keyed = problems.map((problem) => ({ problem, places: placesOf(problem.path, root) }));
  keyed.sort((a, b) => {
    const at = a.places.findIndex((place, index) => place !== b.places[index]);
    return at < 0 ? 0 : a.places[at]! - (b.places[at] ?? -1);
  });
  return keyed.map(({ problem }) => problem);
}

/** Which place of the form each part of a path is, from the outermost in. */
function placesOf(path: Path, root: JsonSchema): number[] {
  let schemas = [root];
  return path.map((key) => {
    const fields = schemas
      .map((schema) => fieldOf({ schema, root }))
      .flatMap((field) => unionFields(field, root));
    const members = fields.flatMap((field) => (field.kind === 'object' ? field.members : []));
    if (typeof key === 'number') {
      schemas = fields.flatMap((field) => {
        const item = field.kind === 'list' ? (field.first[key] ?? field.items) : null;
        return item ? [item] : [];
      });
      return key;
    }
    schemas = members.filter(({ name }) => name === key).map(({ schema }) => schema);
    const place = members.findIndex(({ name }) => name === key);
    return place < 0 ? Number.MAX_SAFE_INTEGER : place;
  });
}

function unionFields(field: Field, root: JsonSchema): Field[] {
  return field.kind === 'union' ? field.variants.map((schema) => fieldOf({ schema, root })) : [field];
}
