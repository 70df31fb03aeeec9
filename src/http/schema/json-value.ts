/** Values as JSON has them, and comparing them for a price. */
import { type Budget, TooMuchWork } from './budget.js';

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for what JSON does not have, which fits no type. */
export function typeOf(value: unknown): string | undefined {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : undefined;
}

/** Bodies and schemas that get here are flatter. */
const MAX_DEPTH = 300;

/** Of one value, in steps: texts are built and keys are sorted. */
const CANONICAL_COST = 10;

/** A text that is the same for equal values, whatever the order of their keys. @throws TooMuchWork */
export function canonical(value: unknown, budget: Budget, depth = 0): string {
  if (depth > MAX_DEPTH) throw new TooMuchWork('a value is nested too deeply');
  budget.spend(typeof value === 'string' ? CANONICAL_COST + value.length / 4 : CANONICAL_COST);
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonical(item, budget, depth + 1)).join()}]`;
  }
  if (!isObject(value)) return JSON.stringify(value) ?? 'undefined';
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key], budget, depth + 1)}`).join()}}`;
}

/** @throws TooMuchWork */
export function isEqual(a: unknown, b: unknown, budget: Budget): boolean {
  if (typeof a === 'string') budget.spend(1 + a.length / 64);
  if (a === b || typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  return canonical(a, budget) === canonical(b, budget);
}
