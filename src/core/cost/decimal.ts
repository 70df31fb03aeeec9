/**
 * Exact decimals: amounts of money, and sums of counts that need not be whole. Never a float: a number is taken by its
 * shortest decimal text, which is what its author sees and means.
 */

/** `units` times ten to the power of minus `scale`. */
export interface Decimal {
  units: bigint;
  scale: number;
}

export const ZERO: Decimal = { units: 0n, scale: 0 };

/** Exponents beyond those of a double are no amounts of anything, and would make texts of any length. */
const MAX_EXPONENT = 400;
/** Digits of a text that is read at all. */
const MAX_DIGITS = 400;

const PATTERN = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;

/** The value of the number or decimal text, without zeros at its end; undefined for anything else. */
export function parseDecimal(value: unknown): Decimal | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const text = String(value);
  if (text.length > MAX_DIGITS) return undefined;
  const match = PATTERN.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  if (Math.abs(Number(exponent)) > MAX_EXPONENT) return undefined;
  const units = BigInt(whole + fraction) * (sign === '-' ? -1n : 1n);
  return normal(units, fraction.length - Number(exponent));
}

function normal(units: bigint, scale: number): Decimal {
  if (units === 0n) return ZERO;
  if (scale < 0) return { units: units * 10n ** BigInt(-scale), scale: 0 };
  let [rest, places] = [units, scale];
  while (places > 0 && rest % 10n === 0n) {
    rest /= 10n;
    places--;
  }
  return { units: rest, scale: places };
}

export function add(a: Decimal, b: Decimal): Decimal {
  if (a.scale === 0 && b.scale === 0) return { units: a.units + b.units, scale: 0 };
  const [left, right, scale] = aligned(a, b);
  return normal(left + right, scale);
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  const [left, right, scale] = aligned(a, b);
  return normal(left - right, scale);
}

/** Negative, zero or positive as `a` is less than, equal to or more than `b`. */
export function compare(a: Decimal, b: Decimal): number {
  const [left, right] = aligned(a, b);
  return left === right ? 0 : left < right ? -1 : 1;
}

function aligned(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const scale = Math.max(a.scale, b.scale);
  const to = ({ units, scale: own }: Decimal) => units * 10n ** BigInt(scale - own);
  return [to(a), to(b), scale];
}

/** `0.00125`: no exponent, no zeros at the end. */
export function decimalText({ units, scale }: Decimal): string {
  const isNegative = units < 0n;
  const digits = (isNegative ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale);
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A count that was checked when it was said; most are whole. */
export const countOf = (count: number | undefined): Decimal =>
  Number.isSafeInteger(count) ? { units: BigInt(count!), scale: 0 } : (parseDecimal(count) ?? ZERO);

/** The text of an amount that was checked when it was said. */
export const amountOf = (text: string): Decimal => parseDecimal(text) ?? ZERO;
