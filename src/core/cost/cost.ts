/**
 * What steps say that they have spent. Owns what may be said and the form in which it is kept.
 *
 * 1. Amounts are decimal texts from where they are said to where they are read, with at most nine decimals.
 * 2. What is said is checked at once, where it is said, so that everything that is kept can be summed up.
 */
import { COST_LIMITS } from '../bounds/limits.js';
import { utf8Bytes } from '../values/bytes.js';
import { unknownName } from '../values/nearest.js';
import { isWellFormed } from '../values/text.js';
import { add, amountOf, compare, countOf, type Decimal, decimalText, parseDecimal, ZERO } from './decimal.js';

/** What `stepContext().cost(…)` takes. */
export interface CostInput {
  /** A number, which counts by its shortest decimal text, or a decimal text such as `"0.00125"`. */
  amount: number | string;
  /** Three capital letters; `USD` if none is given. */
  currency?: string;
  /** A short name such as `llm` or `http`; `other` if none is given. */
  kind?: string;
  /** For people and tables: the model, the vendor. */
  label?: string | null;
  /** Counts that come with it, such as `{ inputTokens: 1200 }`. */
  usage?: Record<string, number>;
}

/** One thing that was said, checked. */
export interface Cost {
  kind: string;
  label: string | null;
  currency: string;
  amount: string;
  usage: Record<string, number>;
}

/** The same with where and when it was said, as histories and answers have it; on the wire `at` is ISO 8601. */
export interface CostRecord extends Cost {
  at: number;
  stepName: string;
  activityId: string;
  attempt: number;
}

export const CURRENCY_PATTERN = /^[A-Z]{3}$/;
const KIND_PATTERN = /^[A-Za-z_][A-Za-z0-9_.:-]*$/;
const FIELDS = ['amount', 'currency', 'kind', 'label', 'usage'];
const MAX_DECIMALS = 9;
const LARGEST: Decimal = { units: 10n ** 15n, scale: 0 };
/** So that no sum of counts is more than a number can be. */
const LARGEST_COUNT = 1e15;

/** What is wrong with an amount, for whoever gave it; undefined when it can be counted. */
export function amountProblem(value: unknown): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') {
    return `must be a number or a decimal text such as "0.00125", and is ${describe(value)}`;
  }
  const amount = parseDecimal(value);
  if (!amount) return `must be a decimal such as 0.00125 or "0.00125", and is ${describe(value)}`;
  if (amount.units < 0n) return `must not be negative, and is ${describe(value)}`;
  if (amount.scale > MAX_DECIMALS) {
    return `may have ${MAX_DECIMALS} decimals, and ${describe(value)} has ${amount.scale}: round it, for example with toFixed(${MAX_DECIMALS})`;
  }
  if (compare(amount, LARGEST) > 0)
    return `may be at most ${decimalText(LARGEST)}, and is ${describe(value)}`;
  return undefined;
}

/** The text under which an amount is kept. */
export const amountText = (value: number | string): string => decimalText(parseDecimal(value)!);

/** What is wrong with what a step says; undefined when it can be kept. */
export function costProblem(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return `takes an object such as { amount: "0.00125", kind: "llm" }, and was given ${describe(given)}`;
  }
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return unknownName('field', unknown, FIELDS);
  const { amount, currency, kind, label, usage } = given as Record<string, unknown>;
  const ofAmount = amountProblem(amount);
  if (ofAmount) return `amount ${ofAmount}`;
  if (currency !== undefined && !(typeof currency === 'string' && CURRENCY_PATTERN.test(currency))) {
    return `currency must be three capital letters such as "USD", and is ${describe(currency)}`;
  }
  if (kind !== undefined && !isKind(kind)) {
    return `kind must be a short name such as "llm" (letters, digits and _ . : -, at most ${COST_LIMITS.kindLength}), and is ${describe(kind)}`;
  }
  if (label !== undefined && label !== null && !isLabel(label)) {
    return `label must be a text of at most ${COST_LIMITS.labelLength} characters, and is ${describe(label)}`;
  }
  return usage === undefined ? undefined : usageProblem(usage);
}

const isKind = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= COST_LIMITS.kindLength && KIND_PATTERN.test(value);

const isLabel = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= COST_LIMITS.labelLength && isWellFormed(value);

function usageProblem(usage: unknown): string | undefined {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) {
    return `usage must be an object of names to numbers such as { inputTokens: 1200 }, and is ${describe(usage)}`;
  }
  const names = Object.keys(usage);
  if (names.length > COST_LIMITS.usageNames) {
    return `usage may have ${COST_LIMITS.usageNames} names, and has ${names.length}`;
  }
  for (const name of names) {
    if (name === '' || name.length > COST_LIMITS.kindLength || name === '__proto__' || !isWellFormed(name)) {
      return `usage has the name ${describe(name)}; a name has 1 to ${COST_LIMITS.kindLength} characters`;
    }
    const count = (usage as Record<string, unknown>)[name];
    if (!isCount(count)) {
      return `usage.${name} must be a number that is not negative, and is ${describe(count)}`;
    }
    if (count > LARGEST_COUNT) {
      return `usage.${name} may be at most ${LARGEST_COUNT}, and is ${describe(count)}`;
    }
  }
  return undefined;
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

/** What was said, in the form in which it is kept. It has been checked. */
export function costOf({ amount, currency = 'USD', kind = 'other', label, usage = {} }: CostInput): Cost {
  return { kind, label: label ?? null, currency, amount: amountText(amount), usage: { ...usage } };
}

/** Whether it is what `costOf` makes: for what comes from a process that user code lives in. */
export const isCost = (value: unknown): value is Cost => costProblem(value) === undefined && isKept(value);

/**
 * Whether it can be summed up: for what was kept where others may write. A record that stands for many (`bounded`) may be
 * more than one attempt may say at once.
 */
export function isKept(value: unknown): value is Cost {
  if (typeof value !== 'object' || value === null) return false;
  const { amount, currency, kind, usage, label } = value as Record<string, unknown>;
  return (
    isAmount(amount) &&
    typeof currency === 'string' &&
    CURRENCY_PATTERN.test(currency) &&
    isKind(kind) &&
    (label === null || isLabel(label)) &&
    typeof usage === 'object' &&
    usage !== null &&
    Object.values(usage).every(isCount)
  );
}

/** In the one form in which amounts are kept. */
export function isAmount(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const amount = parseDecimal(text);
  return amount !== undefined && amount.units >= 0n && decimalText(amount) === text;
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 50 ? `${value.slice(0, 50)}…` : value);
  return typeof value === 'object' && value !== null
    ? Array.isArray(value)
      ? 'a list'
      : 'an object'
    : String(value);
}

/**
 * The same costs in at most `most` records and `bytes`: a step that is tried for days must not make its history grow for
 * ever. The oldest are summed up by what they were for; nothing of an amount or a count is lost.
 */
export function bounded(
  records: CostRecord[],
  most: number = COST_LIMITS.perStep,
  bytes: number = COST_LIMITS.bytesPerStep,
): CostRecord[] {
  const fits = (some: CostRecord[]) => some.length <= most && bytesOf(some) <= bytes;
  if (fits(records)) return records;
  const kept = newest(records, most / 2, bytes / 2);
  const older = records.slice(0, records.length - kept.length);
  let shorter = records;
  for (const { keyOf, usageNames = COST_LIMITS.usageNamesPerStep } of COARSER) {
    const merged = new Map<string, Merged>();
    for (const record of older) {
      const key = keyOf(record);
      const before = merged.get(key);
      if (before) before.add(record);
      else merged.set(key, new Merged(record, usageNames));
    }
    shorter = [...[...merged.values()].map(({ record }) => record), ...kept];
    if (fits(shorter)) break;
  }
  return shorter;
}

/** Half of what there may be stays as it is, so that it is not all summed up again with the next one. */
function newest(records: CostRecord[], most: number, bytes: number): CostRecord[] {
  let from = records.length;
  for (let left = bytes; from > 0 && records.length - from < most; from--) {
    left -= bytesOf(records[from - 1]);
    if (left < 0) break;
  }
  return records.slice(from);
}

const bytesOf = (value: unknown): number => utf8Bytes(JSON.stringify(value));

const COARSER: { keyOf(record: CostRecord): string; usageNames?: number }[] = [
  { keyOf: ({ attempt, kind, label, currency }) => JSON.stringify([attempt, kind, label, currency]) },
  { keyOf: ({ kind, label, currency }) => JSON.stringify([kind, label, currency]) },
  { keyOf: ({ kind, currency }) => JSON.stringify([kind, currency]) },
  { keyOf: ({ currency }) => currency },
  { keyOf: ({ currency }) => currency, usageNames: 0 },
];

/** Several records as one. */
class Merged {
  #last: CostRecord;
  #amount: Decimal;
  readonly #usage = new Map<string, Decimal>();

  constructor(
    first: CostRecord,
    private readonly usageNames: number,
  ) {
    this.#last = first;
    this.#amount = amountOf(first.amount);
    this.#count(first);
  }

  add(record: CostRecord): void {
    const { kind, label } = this.#last;
    this.#last = {
      ...record,
      kind: record.kind === kind ? kind : 'other',
      label: record.label === label ? label : null,
    };
    this.#amount = add(this.#amount, amountOf(record.amount));
    this.#count(record);
  }

  get record(): CostRecord {
    const usage = [...this.#usage].map(([name, count]) => [name, Number(decimalText(count))]);
    return { ...this.#last, amount: decimalText(this.#amount), usage: Object.fromEntries(usage) };
  }

  #count({ usage }: CostRecord): void {
    for (const [name, count] of Object.entries(usage)) {
      const isKnown = this.#usage.has(name) || this.#usage.size < this.usageNames;
      const key = isKnown ? name : OTHER_COUNTS;
      this.#usage.set(key, add(this.#usage.get(key) ?? ZERO, countOf(count)));
    }
  }
}

/** What counts are kept under whose names are more than anybody would read. */
export const OTHER_COUNTS = 'other';
