/** Keywords that put schemas together. */
import { isObject } from '../json-value.js';
import { and, type Keyword, type Validator, type Verdict } from '../validator.js';

const reference: Keyword = (check, given, value) => {
  const target = typeof given === 'string' ? check.resolve(given) : undefined;
  return target === undefined
    ? check.leave('a reference that leads nowhere in the schema itself')
    : check.validate(target, value);
};

/** Where a dynamic reference leads depends on how it was come by. */
const dynamicReference: Keyword = (check) => check.leave('a dynamic reference');

/** References inside would be relative to it. */
const identifier: Keyword = (check, _given, _value, schema) =>
  check.isRoot(schema) ? true : check.leave('a schema within it that has an address of its own');

const allOf: Keyword = (check, given, value) => {
  if (!Array.isArray(given)) return check.leave('allOf that is not a list');
  let verdict: Verdict = true;
  for (const part of given) {
    verdict = and(verdict, check.validate(part, value));
    if (check.isSettled(verdict)) break;
  }
  return verdict;
};

const anyOf: Keyword = (check, given, value) => {
  if (!Array.isArray(given)) return check.leave('anyOf that is not a list');
  const before = check.issues.length;
  let verdict: Verdict = false;
  for (const part of given) {
    const one = check.validate(part, value);
    if (one === true) {
      check.forgive(before);
      return true;
    }
    if (one === undefined) verdict = undefined;
  }
  if (verdict === undefined) check.forgive(before);
  return verdict === false ? check.fail('anyOf', 'must match a schema in anyOf') : verdict;
};

const oneOf: Keyword = (check, given, value) => {
  if (!Array.isArray(given)) return check.leave('oneOf that is not a list');
  const before = check.issues.length;
  let fitting = 0;
  let open = 0;
  for (const part of given) {
    const one = check.validate(part, value);
    if (one === true) fitting++;
    if (one === undefined) open++;
    if (fitting > 1) break;
  }
  if (fitting > 0 || open > 0) check.forgive(before);
  if (fitting > 1 || (fitting === 0 && open === 0)) {
    return check.fail('oneOf', 'must match exactly one schema in oneOf');
  }
  return open > 0 ? undefined : true;
};

const not: Keyword = (check, given, value) => {
  const verdict = quietly(check, given, value);
  if (verdict === true) return check.fail('not', 'must NOT be valid');
  return verdict === undefined ? undefined : true;
};

const condition: Keyword = (check, given, value, schema) => {
  const verdict = quietly(check, given, value);
  if (verdict === undefined) return undefined;
  const branch = verdict ? 'then' : 'else';
  if (schema[branch] === undefined) return true;
  const outcome = check.validate(schema[branch], value);
  return outcome === false ? check.fail('if', `must match "${branch}" schema`) : outcome;
};

const dependentSchemas: Keyword = (check, given, value) => {
  if (!isObject(value)) return true;
  if (!isObject(given)) return check.leave('dependentSchemas that are not an object');
  let verdict: Verdict = true;
  for (const key in given) {
    check.budget.spend(1);
    if (Object.hasOwn(value, key)) verdict = and(verdict, check.validate(given[key], value));
  }
  return verdict;
};

/** The verdict alone. */
function quietly(check: Validator, schema: unknown, value: unknown): Verdict {
  const before = check.issues.length;
  const verdict = check.validate(schema, value);
  check.forgive(before);
  return verdict;
}

export const COMPOSITION_KEYWORDS: [string, Keyword][] = [
  ['$ref', reference],
  ['$dynamicRef', dynamicReference],
  ['$recursiveRef', dynamicReference],
  ['$id', identifier],
  ['allOf', allOf],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['not', not],
  ['if', condition],
  ['dependentSchemas', dependentSchemas],
];
