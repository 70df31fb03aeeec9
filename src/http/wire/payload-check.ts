/**
 * Checks values against the schemas of a catalog, at the door.
 *
 * The schemas are the authors' and the values the callers', and both are checked in the server's own loop: what one
 * check may cost is bounded, and where the bound or the means do not suffice, the value is let in. The worker parses
 * it with the author's own schema anyway, in a process that is watched.
 */

import { CHECK_STEPS } from '../../core/bounds/limits.js';
import { PerdureError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import { Budget, TooMuchWork } from '../schema/budget.js';
import type { Grounds } from '../schema/grounds.js';
import { KEYWORDS } from '../schema/keywords/index.js';
import { PatternCache } from '../schema/pattern-cache.js';
import { Validator } from '../schema/validator.js';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Then it is said again: authors may have any number of schemas. */
const MAX_TOLD = 1_000;

export class PayloadCheck {
  private readonly patterns = new PatternCache();
  /** What has been said already; a catalog may be read anew every second. */
  private readonly told = new Set<string>();

  constructor(private readonly log: Log) {}

  /**
   * `field` is where the value stands in the body, `whose` what it is for, such as `workflow "order"`.
   * @throws ValidationError that lists what does not fit
   */
  check(grounds: Grounds | undefined, value: unknown, field: string, whose: string): void {
    if (grounds === undefined || (value === undefined && grounds.orNothing)) return;
    const { schema } = grounds;
    const { $schema: dialect = DIALECT } = schema;
    if (dialect !== DIALECT && dialect !== `${DIALECT}#`) {
      this.leave(whose, 'it is of another dialect than JSON Schema 2020-12');
      return;
    }
    const validator = new Validator(KEYWORDS, schema, this.patterns, new Budget(CHECK_STEPS), [field]);
    let verdict: boolean | undefined;
    try {
      verdict = validator.validate(schema, value);
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error;
      this.leave(whose, error.message);
      return;
    }
    if (verdict === false) {
      throw new PerdureError('ValidationError', 'Invalid Payload', { issues: validator.issues });
    }
    if (validator.unknown !== undefined) this.leave(whose, validator.unknown);
  }

  /** Lets in what fits one of them. @throws ValidationError that lists what does not fit the first */
  checkAny(all: readonly (Grounds | undefined)[], value: unknown, field: string, whose: string): void {
    let refusal: unknown;
    for (const grounds of all) {
      try {
        this.check(grounds, value, field, whose);
        return;
      } catch (error) {
        if (!(error instanceof PerdureError)) throw error;
        refusal ??= error;
      }
    }
    if (refusal !== undefined) throw refusal;
  }

  private leave(whose: string, reason: string): void {
    const words = `${whose}: ${reason}`;
    if (this.told.has(words)) return;
    if (this.told.size >= MAX_TOLD) this.told.clear();
    this.told.add(words);
    this.log.warn(
      { schemaOf: whose, reason },
      `a schema of ${whose} cannot be checked completely at the door (${reason}); the worker does the rest`,
    );
  }
}
