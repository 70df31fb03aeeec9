/**
 * Holds a value against a JSON Schema of an author, within bounds.
 *
 * 1. The schema is read as data and never turned into code. Nothing is prepared for it, so one that nobody uses costs
 *    nothing, however large it is.
 * 2. Every loop pays for its steps, so that no schema, no value and no pair of them takes longer than the budget.
 * 3. The verdict has three values. What cannot be told here (a pattern that needs backtracking, a reference to
 *    elsewhere, a keyword that is used in an unknown way) is unknown and never counts as a mistake of the caller: the
 *    worker parses the value with the author's own schema. `format` is an annotation.
 */

import { MAX_ISSUES } from '../../core/bounds/limits.js';
import type { JsonSchema } from '../../core/catalog.js';
import type { ValidationIssue } from '../../core/errors.js';
import { type Budget, TooMuchWork } from './budget.js';
import { isObject } from './json-value.js';
import { Pattern } from './pattern.js';
import type { PatternCache } from './pattern-cache.js';

/** Undefined: unknown. */
export type Verdict = boolean | undefined;

/** What a keyword with the value `given` says of `value`. It stands in `schema`. */
export type Keyword = (check: Validator, given: unknown, value: unknown, schema: JsonSchema) => Verdict;

/** Schemas within schemas and values within values, taken together; each level is some calls on the stack. */
const MAX_DEPTH = 500;

const HALF_OF_A_PAIR = /[\ud800-\udfff]/;

/** Of one step along a reference, in steps. */
const REFERENCE_COST = 5;

export class Validator {
  readonly issues: ValidationIssue[] = [];
  /** Why something was left open, if it was. */
  unknown: string | undefined;
  private readonly resolved = new Map<string, unknown>();
  private depth = 0;

  constructor(
    private readonly keywords: ReadonlyMap<string, Keyword>,
    private readonly root: JsonSchema,
    private readonly patterns: PatternCache,
    readonly budget: Budget,
    private readonly path: (string | number)[],
  ) {}

  /** @throws TooMuchWork */
  validate(schema: unknown, value: unknown): Verdict {
    this.budget.spend(1);
    if (typeof schema === 'boolean') return schema || this.fail('false schema', 'boolean schema is false');
    if (!isObject(schema)) return this.leave('a part of it is not a schema');
    if (++this.depth > MAX_DEPTH) throw new TooMuchWork('it is nested too deeply');
    let verdict: Verdict = true;
    for (const name in schema) {
      this.budget.spend(1);
      const keyword = this.keywords.get(name);
      if (keyword === undefined) continue;
      verdict = and(verdict, keyword(this, schema[name], value, schema));
      if (this.isSettled(verdict)) break;
    }
    this.depth--;
    return verdict;
  }

  /** The same for a part of the value, whose issues are told with its place. */
  validatePart(schema: unknown, key: string | number, part: unknown): Verdict {
    this.path.push(key);
    const verdict = this.validate(schema, part);
    this.path.pop();
    return verdict;
  }

  /** Whether a conjunction that stands so can neither change nor say more. */
  isSettled(verdict: Verdict): boolean {
    return verdict === false && this.issues.length >= MAX_ISSUES;
  }

  /** Records what is wrong with the value that is looked at, and gives the verdict that says so. */
  fail(code: string, message: string, member?: string): false {
    if (this.issues.length < MAX_ISSUES) {
      const path = member === undefined ? [...this.path] : [...this.path, member];
      this.issues.push({ path, message, code });
    }
    return false;
  }

  /** The verdict for what only the worker can tell. */
  leave(reason: string): undefined {
    this.unknown ??= reason;
  }

  /** Forgets the issues since there were `count`: what they were about turned out to be right. */
  forgive(count: number): void {
    this.issues.length = Math.min(this.issues.length, count);
  }

  matches(source: unknown, text: string): Verdict {
    if (typeof source !== 'string') return this.leave('a pattern is not a text');
    this.budget.spend(1 + source.length);
    const pattern = this.patterns.get(source, this.budget);
    if (pattern instanceof Pattern) {
      if (pattern.test(text, this.budget)) return true;
      // A pattern does not say whether its author counts characters or halves of them.
      return HALF_OF_A_PAIR.test(text) ? undefined : false;
    }
    return this.leave(`the pattern ${JSON.stringify(source.slice(0, 100))}: ${pattern.message}`);
  }

  /** What a reference within the document leads to; undefined when there is nothing, or it leads elsewhere. */
  resolve(reference: string): unknown {
    this.budget.spend(REFERENCE_COST);
    if (!this.resolved.has(reference)) this.resolved.set(reference, this.lookUp(reference));
    return this.resolved.get(reference);
  }

  private lookUp(reference: string): unknown {
    if (reference !== '#' && !reference.startsWith('#/')) return undefined;
    let target: unknown = this.root;
    for (const part of reference.split('/').slice(1)) {
      this.budget.spend(REFERENCE_COST);
      const key = decode(part);
      if (key === undefined || typeof target !== 'object' || target === null) return undefined;
      if (!Object.hasOwn(target, key)) return undefined;
      target = (target as Record<string, unknown>)[key];
    }
    return target;
  }

  isRoot(schema: JsonSchema): boolean {
    return schema === this.root;
  }
}

export function and(a: Verdict, b: Verdict): Verdict {
  if (a === false || b === false) return false;
  return a && b;
}

/** A part of a JSON pointer in a URI fragment. */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}
