/** Keywords of objects and lists. */
import type { JsonSchema } from '../../../core/catalog.js';
import { canonical, isObject, type JsonObject } from '../json-value.js';
import { and, type Keyword, type Validator, type Verdict } from '../validator.js';
import { bound } from './values.js';

const properties: Keyword = (check, given, value) => {
  if (!isObject(value)) return true;
  if (!isObject(given)) return check.leave('properties that are not an object');
  return everyMember(check, value, (key, member) =>
    Object.hasOwn(given, key) ? check.validatePart(given[key], key, member) : true,
  );
};

const patternProperties: Keyword = (check, given, value) => {
  if (!isObject(value)) return true;
  if (!isObject(given)) return check.leave('patternProperties that are not an object');
  const sources = Object.keys(given);
  return everyMember(check, value, (key, member) => {
    let verdict: Verdict = true;
    for (const source of sources) {
      const matches = check.matches(source, key);
      if (matches === true) verdict = and(verdict, check.validatePart(given[source], key, member));
      if (matches === undefined) verdict = and(verdict, undefined);
    }
    return verdict;
  });
};

const additionalProperties: Keyword = (check, given, value, schema) => {
  if (!isObject(value)) return true;
  return everyMember(check, value, (key, member) => {
    const isAdditional = additional(check, schema, key);
    if (!isAdditional) return isAdditional === undefined ? undefined : true;
    if (given === false)
      return check.fail('additionalProperties', 'must NOT have additional properties', key);
    return check.validatePart(given, key, member);
  });
};

/** Whether neither `properties` nor `patternProperties` speak of the member. */
function additional(check: Validator, schema: JsonSchema, key: string): Verdict {
  if (isObject(schema.properties) && Object.hasOwn(schema.properties, key)) return false;
  let verdict: Verdict = true;
  for (const source of isObject(schema.patternProperties) ? Object.keys(schema.patternProperties) : []) {
    const matches = check.matches(source, key);
    if (matches) return false;
    if (matches === undefined) verdict = undefined;
  }
  return verdict;
}

const propertyNames: Keyword = (check, given, value) => {
  if (!isObject(value)) return true;
  return everyMember(check, value, (key) => {
    const verdict = check.validatePart(given, key, key);
    return verdict === false ? check.fail('propertyNames', 'property name must be valid', key) : verdict;
  });
};

const required: Keyword = (check, given, value) => {
  if (!isObject(value)) return true;
  return everyRequired(check, given, value, 'required', () => '');
};

const dependentRequired: Keyword = (check, given, value) => {
  if (!isObject(value)) return true;
  if (!isObject(given)) return check.leave('dependentRequired that is not an object');
  return everyMember(check, given, (key, names) =>
    Object.hasOwn(value, key)
      ? everyRequired(check, names, value, 'dependentRequired', () => ` when property ${key} is present`)
      : true,
  );
};

function everyRequired(
  check: Validator,
  names: unknown,
  value: JsonObject,
  code: string,
  when: () => string,
): Verdict {
  if (!Array.isArray(names)) return check.leave(`a ${code} that is not a list`);
  let verdict: Verdict = true;
  for (const name of names) {
    check.budget.spend(1);
    if (typeof name !== 'string' || Object.hasOwn(value, name)) continue;
    verdict = check.fail(code, `must have required property '${name}'${when()}`, name);
    if (check.isSettled(verdict)) break;
  }
  return verdict;
}

function everyMember(
  check: Validator,
  object: JsonObject,
  verdictOf: (key: string, member: unknown) => Verdict,
): Verdict {
  let verdict: Verdict = true;
  for (const key in object) {
    check.budget.spend(1);
    verdict = and(verdict, verdictOf(key, object[key]));
    if (check.isSettled(verdict)) break;
  }
  return verdict;
}

const prefixItems: Keyword = (check, given, value) => {
  if (!Array.isArray(value)) return true;
  if (!Array.isArray(given)) return check.leave('prefixItems that are not a list');
  let verdict: Verdict = true;
  for (let i = 0; i < given.length && i < value.length; i++) {
    verdict = and(verdict, check.validatePart(given[i], i, value[i]));
    if (check.isSettled(verdict)) break;
  }
  return verdict;
};

const items: Keyword = (check, given, value, schema) => {
  if (!Array.isArray(value)) return true;
  if (Array.isArray(given)) return check.leave('items as older dialects have them');
  const start = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0;
  if (given === false) {
    return value.length <= start || check.fail('items', `must NOT have more than ${start} items`);
  }
  let verdict: Verdict = true;
  for (let i = start; i < value.length; i++) {
    verdict = and(verdict, check.validatePart(given, i, value[i]));
    if (check.isSettled(verdict)) break;
  }
  return verdict;
};

const contains: Keyword = (
  check,
  given,
  value,
  { minContains = 1, maxContains = Number.POSITIVE_INFINITY },
) => {
  if (!Array.isArray(value)) return true;
  if (typeof minContains !== 'number' || typeof maxContains !== 'number') {
    return check.leave('minContains or maxContains that is not a number');
  }
  const before = check.issues.length;
  let found = 0;
  let open = 0;
  for (let i = 0; i < value.length; i++) {
    const verdict = check.validatePart(given, i, value[i]);
    if (verdict === true) found++;
    if (verdict === undefined) open++;
    check.forgive(before);
  }
  if (found + open < minContains || found > maxContains) {
    return check.fail('contains', `must contain at least ${minContains} valid item(s)`);
  }
  return found >= minContains && found + open <= maxContains ? true : undefined;
};

const uniqueItems: Keyword = (check, given, value) => {
  if (!Array.isArray(value) || given !== true) return true;
  const scalars = new Map<unknown, number>();
  const others = new Map<string, number>();
  for (let i = 0; i < value.length; i++) {
    const item: unknown = value[i];
    const isScalar = typeof item !== 'object' || item === null;
    check.budget.spend(4);
    const key = isScalar ? item : canonical(item, check.budget);
    const seen: Map<unknown, number> = isScalar ? scalars : others;
    const first = seen.get(key);
    if (first !== undefined) {
      return check.fail(
        'uniqueItems',
        `must NOT have duplicate items (items ## ${i} and ${first} are identical)`,
      );
    }
    seen.set(key, i);
  }
  return true;
};

/** Which members count depends on what all others have looked at; libraries for authors do not write it. */
const unevaluated: Keyword = (check, given, value) => {
  if (typeof value !== 'object' || value === null || given === true) return true;
  return check.leave('what is unevaluated is for the worker to say');
};

const isList = (value: unknown): value is unknown[] => Array.isArray(value);
const few = (what: string) => (limit: number) => `must NOT have fewer than ${limit} ${what}`;
const many = (what: string) => (limit: number) => `must NOT have more than ${limit} ${what}`;

function countOf(object: JsonObject, check: Validator): number {
  const { length } = Object.keys(object);
  check.budget.spend(length / 4);
  return length;
}

export const CONTAINER_KEYWORDS: [string, Keyword][] = [
  ['required', required],
  ['properties', properties],
  ['patternProperties', patternProperties],
  ['additionalProperties', additionalProperties],
  ['propertyNames', propertyNames],
  ['dependentRequired', dependentRequired],
  ['unevaluatedProperties', unevaluated],
  bound(
    'minProperties',
    isObject,
    (value, limit, check) => countOf(value, check) >= limit,
    few('properties'),
  ),
  bound(
    'maxProperties',
    isObject,
    (value, limit, check) => countOf(value, check) <= limit,
    many('properties'),
  ),
  ['prefixItems', prefixItems],
  ['items', items],
  ['contains', contains],
  ['uniqueItems', uniqueItems],
  ['unevaluatedItems', unevaluated],
  bound('minItems', isList, (value, limit) => value.length >= limit, few('items')),
  bound('maxItems', isList, (value, limit) => value.length <= limit, many('items')),
];
