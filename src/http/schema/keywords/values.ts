/** Keywords of every value, of texts and of numbers. */
import { isEqual, typeOf } from '../json-value.js';
import type { Keyword, Validator, Verdict } from '../validator.js';

const TYPES = new Set<unknown>(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);

const type: Keyword = (check, given, value, { nullable }) => {
  const types: unknown[] = Array.isArray(given) ? given : [given];
  if (types.length > TYPES.size || !types.every((name) => TYPES.has(name))) {
    return check.leave('a type that JSON does not have');
  }
  if (nullable === true && value === null) return true;
  const actual = typeOf(value);
  const fits = types.includes(actual) || (Number.isInteger(value) && types.includes('integer'));
  return fits || check.fail('type', `must be ${types.join(',')}`);
};

const constant: Keyword = (check, given, value) =>
  isEqual(given, value, check.budget) || check.fail('const', 'must be equal to constant');

const choices: Keyword = (check, given, value) => {
  if (!Array.isArray(given)) return check.leave('an enum that is not a list');
  return (
    given.some((choice) => {
      check.budget.spend(1);
      return isEqual(choice, value, check.budget);
    }) || check.fail('enum', 'must be equal to one of the allowed values')
  );
};

/** The keyword for a bound that is a number; `fits` says whether a value keeps it. */
export function bound<T>(
  code: string,
  applies: (value: unknown) => value is T,
  fits: (value: T, limit: number, check: Validator) => Verdict,
  describe: (limit: number) => string,
): [string, Keyword] {
  const keyword: Keyword = (check, limit, value) => {
    if (!applies(value)) return true;
    if (typeof limit !== 'number') return check.leave(`a ${code} that is not a number`);
    const verdict = fits(value, limit, check);
    return verdict === false ? check.fail(code, describe(limit)) : verdict;
  };
  return [code, keyword];
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

const pattern: Keyword = (check, source, value) => {
  if (!isText(value)) return true;
  const matches = check.matches(source, value);
  return matches === false ? check.fail('pattern', `must match pattern ${JSON.stringify(source)}`) : matches;
};

/** JSON Schema counts code points and most libraries count halves of surrogate pairs: wrong is what both refuse. */
function hasMoreCharacters(text: string, limit: number, check: Validator): boolean {
  if (text.length <= limit) return false;
  check.budget.spend(text.length / 16);
  let pairs = 0;
  for (let i = 0; i < text.length - 1; i++) {
    if (text.codePointAt(i)! > 0xffff) {
      pairs++;
      i++;
    }
  }
  return text.length - pairs > limit;
}

/** Where the quotient is not whole only because of how fractions are stored, the worker decides. */
function isMultiple(value: number, divisor: number): Verdict {
  const quotient = value / divisor;
  if (!(divisor > 0) || !Number.isFinite(quotient)) return undefined;
  if (Number.isInteger(quotient)) return true;
  const distance = Math.abs(quotient - Math.round(quotient));
  return distance <= Math.max(1, Math.abs(quotient)) * Number.EPSILON * 4 ? undefined : false;
}

export const VALUE_KEYWORDS: [string, Keyword][] = [
  ['type', type],
  ['const', constant],
  ['enum', choices],
  ['pattern', pattern],
  bound(
    'minLength',
    isText,
    (text, limit) => text.length >= limit,
    (limit) => `must NOT have fewer than ${limit} characters`,
  ),
  bound(
    'maxLength',
    isText,
    (text, limit, check) => !hasMoreCharacters(text, limit, check),
    (limit) => `must NOT have more than ${limit} characters`,
  ),
  bound(
    'minimum',
    isNumber,
    (value, limit) => value >= limit,
    (limit) => `must be >= ${limit}`,
  ),
  bound(
    'maximum',
    isNumber,
    (value, limit) => value <= limit,
    (limit) => `must be <= ${limit}`,
  ),
  bound(
    'exclusiveMinimum',
    isNumber,
    (value, limit) => value > limit,
    (limit) => `must be > ${limit}`,
  ),
  bound(
    'exclusiveMaximum',
    isNumber,
    (value, limit) => value < limit,
    (limit) => `must be < ${limit}`,
  ),
  bound('multipleOf', isNumber, isMultiple, (divisor) => `must be multiple of ${divisor}`),
];
