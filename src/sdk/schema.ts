/** Schemas of inputs and outputs: any Standard Schema that can also give a JSON Schema. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import * as z from 'zod';
import type { JsonSchema } from '../core/catalog.js';
import { type SchemaIssue, UsageError, ValidationError } from './errors.js';

export type Schema = StandardSchemaV1;

/** What a caller passes: before defaults and transforms. */
export type InputOf<S extends Schema> = StandardSchemaV1.InferInput<S>;
/** What comes out of parsing. */
export type OutputOf<S extends Schema> = StandardSchemaV1.InferOutput<S>;

export function isSchema(value: unknown): value is Schema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  const standard = (value as Partial<Schema>)['~standard'];
  return typeof standard === 'object' && standard !== null && typeof standard.validate === 'function';
}

/**
 * The parsed value, at once where the schema allows it. `what` names the value in the error, such as
 * `input of workflow "order"`.
 * @throws ValidationError (or the promise rejects with it)
 */
export function parse(schema: Schema | undefined, value: unknown, what: string): unknown {
  if (!schema) return value;
  const result = schema['~standard'].validate(value);
  return isPromise(result) ? result.then((settled) => accept(settled, what)) : accept(result, what);
}

/** As `parse`, of what has to be known now. @throws UsageError for a schema that is async */
export function parseNow(schema: Schema | undefined, value: unknown, what: string): unknown {
  const parsed = parse(schema, value, what);
  if (!isPromise(parsed)) return parsed;
  parsed.catch(() => {});
  throwAgain(schema, value);
  throw new UsageError(`the schema of the ${what} is async: a message is read and answered at once`);
}

/** zod gives a promise, too, when a check has thrown; what it threw comes out of its own way to parse. */
function throwAgain(schema: Schema | undefined, value: unknown): void {
  const { safeParse } = schema as { safeParse?: (value: unknown) => unknown };
  if (schema?.['~standard'].vendor !== 'zod' || typeof safeParse !== 'function') return;
  try {
    safeParse(value);
  } catch (error) {
    if (!(error instanceof z.core.$ZodAsyncError)) throw error;
  }
}

/** Throws where the value does not fit, as far as that is known at once. @throws ValidationError */
export function checkValue(schema: Schema | undefined, value: unknown, what: string): void {
  const checked = parse(schema, value, what);
  if (isPromise(checked)) checked.catch(() => {});
}

export function isPromise<T>(value: T | PromiseLike<T>): value is Promise<T> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}

function accept(result: StandardSchemaV1.Result<unknown>, what: string): unknown {
  if (!result.issues) return result.value;
  const issues = result.issues.map(issueOf);
  const first = issues[0];
  const where = first && first.path.length > 0 ? `${first.path.join('.')}: ` : '';
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  throw new ValidationError(
    `${what} is invalid: ${where}${first?.message ?? 'no reason given'}${more}`,
    issues,
  );
}

function issueOf(issue: StandardSchemaV1.Issue): SchemaIssue {
  const path = (issue.path ?? []).map((part) => {
    const key = typeof part === 'object' && part !== null ? part.key : part;
    return typeof key === 'number' ? key : String(key);
  });
  const code = (issue as { code?: unknown }).code;
  return { path, message: issue.message, code: typeof code === 'string' ? code : 'invalid' };
}

type Io = 'input' | 'output';

/**
 * JSON Schema 2020-12 of what goes into (`input`) or comes out of (`output`) a schema, as far as JSON Schema can say it: a
 * part that it has no words for, such as what a transform makes, allows everything. Null where nothing is left.
 */
export function jsonSchemaOf(schema: Schema, io: Io): JsonSchema | null {
  for (const give of [zodJsonSchema, standardJsonSchema, ownJsonSchema]) {
    try {
      const given = give(schema, io);
      // Through JSON, so that what is registered is plain data whatever the library returned.
      if (given) return saysSomething(JSON.parse(JSON.stringify(given)) as JsonSchema);
    } catch {
      // The next one may have words for it. Nobody has to: values are parsed by the schema itself wherever they go.
    }
  }
  return null;
}

const saysSomething = (schema: JsonSchema): JsonSchema | null =>
  Object.keys(schema).some((key) => key !== '$schema') ? schema : null;

function standardJsonSchema(schema: Schema, io: Io): JsonSchema | undefined {
  const converter = (schema['~standard'] as Partial<StandardJSONSchemaV1.Props>).jsonSchema;
  return converter?.[io]({ target: 'draft-2020-12' });
}

function zodJsonSchema(schema: Schema, io: Io): JsonSchema | undefined {
  if (schema['~standard'].vendor !== 'zod') return undefined;
  return z.toJSONSchema(schema as unknown as z.ZodType, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
  }) as JsonSchema;
}

function ownJsonSchema(schema: Schema, io: Io): JsonSchema | undefined {
  const own = schema as { toJsonSchema?: unknown; toJSONSchema?: unknown };
  const give = own.toJsonSchema ?? own.toJSONSchema;
  return typeof give === 'function' ? (give.call(schema, { io }) as JsonSchema) : undefined;
}
