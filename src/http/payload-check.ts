/**
 * Checks values against the schemas of a catalog, at the door.
 *
 * Validators are compiled once per schema object and kept as long as it lives, so an engine answers with the same
 * catalog object until the catalog changes.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../core/catalog.js';
import { PerdureError, type ValidationIssue } from '../core/errors.js';
import { MAX_ISSUES } from '../core/limits.js';
import type { Log } from '../core/log.js';

export class PayloadCheck {
  /** Null for a schema that only the worker can read. */
  private readonly validators = new WeakMap<JsonSchema, ValidateFunction | null>();

  constructor(private readonly log: Log) {}

  /** `field` is where the value stands in the body. @throws ValidationError that lists what does not fit */
  check(schema: JsonSchema | null | undefined, value: unknown, field: string): void {
    if (schema === null || schema === undefined) return;
    let validate = this.validators.get(schema);
    if (validate === undefined) {
      validate = this.compile(schema);
      this.validators.set(schema, validate);
    }
    if (validate === null || validate(value)) return;
    const errors = validate.errors ?? [];
    throw new PerdureError('ValidationError', 'Invalid Payload', {
      issues: errors.slice(0, MAX_ISSUES).map((error) => toIssue(error, value, field)),
    });
  }

  private compile(schema: JsonSchema): ValidateFunction | null {
    try {
      const validate = newAjv().compile(schema);
      if (!('$async' in validate && validate.$async)) return validate;
      throw new Error('asynchronous schemas cannot be checked at the door');
    } catch (error) {
      // The workflow itself checks its input as well, so a schema that only this check cannot read stops nobody.
      this.log.warn(
        { err: error, schema: schema.$id ?? schema.title },
        'a schema of a catalog cannot be compiled; its values are checked by the worker only',
      );
      return null;
    }
  }
}

/** One per schema, so that an `$id` used twice cannot clash. References to elsewhere are errors, never fetched. */
function newAjv(): Ajv2020 {
  return new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    logger: false,
    addUsedSchema: false,
  });
}

function toIssue(error: ErrorObject, checked: unknown, field: string): ValidationIssue {
  const path: (string | number)[] = [field];
  let value = checked;
  for (const part of error.instancePath.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(key) : key);
    value = (value as Record<string, unknown> | null | undefined)?.[key];
  }
  const missing = error.params.missingProperty ?? error.params.additionalProperty;
  if (typeof missing === 'string') path.push(missing);
  return { path, message: error.message ?? 'does not fit the schema', code: error.keyword };
}
