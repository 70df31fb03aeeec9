/**
 * Requests made up from the OpenAPI document: most of them nearly right, so that they get past the door, the others
 * wrong in every way that a request can be.
 *
 * What only a running server knows (ids, tokens) stands in a request as a `Pick` and is filled in when it is sent.
 */
import fc, { type Arbitrary } from 'fast-check';
import type { DocumentedOperation, OpenApi } from '../conformance.js';

export type PoolName = 'workflowId' | 'runId' | 'pageToken' | 'cursor' | 'ticket';

/** One of the values of a pool, whichever there are then. */
export interface Pick {
  $pick: PoolName;
  at: number;
}

export interface FuzzRequest {
  operationId: string;
  method: string;
  /** With `{name}` for its parameters. */
  path: string;
  params: Record<string, unknown>;
  query: [string, unknown][];
  headers: Record<string, string>;
  /** A text is sent as it is. */
  body: { json: unknown } | { text: string } | undefined;
}

type Schema = Record<string, unknown>;

const pick = (pool: PoolName): Arbitrary<Pick> => fc.record({ $pick: fc.constant(pool), at: fc.nat(1_000) });

/** Texts that are legal somewhere and dangerous elsewhere. */
const oddText = fc.constantFrom(
  '',
  ' ',
  '.',
  '..',
  'a/b',
  '%2F',
  '\u0000',
  'a\nb',
  '\ud800',
  'ü🦊',
  "'; DROP TABLE runs; --",
  '$where',
  '__proto__',
  'constructor',
  'toString',
  'catalog',
  'runs',
  'null',
  '-1',
  '1e9',
  '99999999999999999999',
  'x'.repeat(300),
  'x'.repeat(5_000),
);
const text = fc.oneof(oddText, fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ maxLength: 30 }));
/** Null but one time in `n`. */
const sometimes = <T>(value: Arbitrary<T>, n: number): Arbitrary<T | null> =>
  fc.oneof({ weight: n - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
const json = fc.jsonValue({ maxDepth: 4 });
const fewMs = fc.integer({ min: 0, max: 30 });

/** Parameters and fields of which the schema alone does not say enough to come through. */
const KNOWN: Record<string, Arbitrary<unknown>> = {
  workflowName: fc.constantFrom(
    'echo',
    'nothing',
    'greets',
    'hello',
    'declined',
    'expires',
    'countsDown',
    ...Array<string>(5).fill('collects'),
    'declares',
    'awaitsFeedback',
    'threeSteps',
    'repeats',
    'eventful',
    'cleansUp',
    'unknown',
  ),
  id: pick('workflowId'),
  rid: pick('runId'),
  runId: pick('runId'),
  workflowId: fc.oneof(pick('workflowId'), fc.uuid()),
  pageToken: pick('pageToken'),
  cursor: pick('cursor'),
  ticket: pick('ticket'),
  catalog: fc.constantFrom('default', 'default', 'default', 'nobodys'),
  taskQueue: fc.constantFrom('default', 'default', 'default', 'nobodys'),
  stepName: fc.constantFrom('first', 'second', 'third', 'decline', 'unknown'),
  workflowType: fc.constantFrom('echo', 'collects', 'unknown'),
  name: fc.constantFrom(
    'add',
    'finish',
    'seen',
    'args',
    'nothing',
    'broken',
    'put',
    'poke',
    'mood',
    'rename',
    'resume',
    'added',
    '__workflow_metadata',
    'unknown',
  ),
  asset: fc.constantFrom('start.js', 'swagger-ui.css'),
  input: fc.oneof(json, fc.constantFrom({ name: 'Ada' }, 1, 'wait')),
  payload: fc.oneof(json, fc.constantFrom({ how: 'gently' }, 'short', 7, 13)),
  lastEventId: fc.oneof(fc.nat(40).map(String), text),
  // Nothing waits for long here, so that what hangs shows.
  wait: fewMs,
  longPollTimeoutMs: fewMs,
  timeout: fc.integer({ min: 1, max: 50 }),
};

/** An id and a run of it: the pools are filled in step. */
const RUN = fc.nat(1_000).map((at) => ({ id: { $pick: 'workflowId', at }, rid: { $pick: 'runId', at } }));

export function requestsOf(document: OpenApi): Arbitrary<FuzzRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      requestOf(document, path, method.toUpperCase(), operation),
    ),
  );
  return fc.oneof(...operations);
}

function requestOf(
  document: OpenApi,
  path: string,
  method: string,
  operation: DocumentedOperation,
): Arbitrary<FuzzRequest> {
  const parameters = operation.parameters ?? [];
  const valuesIn = (where: string) => {
    const entries = parameters.filter((each) => each.in === where);
    return entries.map(
      ({ name, schema }) => [name, mostly(known(name, schema, document, path), text)] as const,
    );
  };
  const anyParams = fc.record(Object.fromEntries(valuesIn('path')));
  const query = valuesIn('query').map(([name, value]) => fc.tuple(fc.constant(name), value));
  const anyKey = fc.tuple(fc.constantFrom('colour', '__proto__', 'a[b]', ''), text);
  const contentType = fc.constantFrom('text/plain', 'application/json; charset=latin1', 'application/x', '');
  return fc.record({
    operationId: fc.constant(operation.operationId),
    method: fc.oneof(
      { weight: 60, arbitrary: fc.constant(method) },
      fc.constantFrom('PUT', 'DELETE', 'OPTIONS'),
    ),
    path: fc.constant(path),
    params: path.includes('{rid}') ? mostly(RUN, anyParams) : anyParams,
    query: fc
      .tuple(...query.map((each) => sometimes(each, 2)), sometimes(anyKey, 20))
      .map((pairs) => pairs.filter((each) => each !== null) as [string, unknown][]),
    headers: fc
      .tuple(
        fc.record(
          Object.fromEntries(
            valuesIn('header').map(([name, value]) => [name.toLowerCase(), value.map(headerText)]),
          ),
          { requiredKeys: [] },
        ),
        sometimes(contentType, 30),
        sometimes(fc.string({ maxLength: 200 }), 10),
      )
      .map(([own, type, requestId]) => ({
        ...(own as Record<string, string>),
        ...(type !== null && { 'content-type': type }),
        ...(requestId !== null && { 'x-request-id': headerText(requestId) }),
      })),
    body: method === 'GET' ? fc.constant(undefined) : bodyOf(operation, document),
  }) as Arbitrary<FuzzRequest>;
}

function bodyOf({ requestBody }: DocumentedOperation, document: OpenApi): Arbitrary<FuzzRequest['body']> {
  const schema = requestBody?.content['application/json']?.schema ?? {};
  const broken = fc.constantFrom(
    '{',
    '{"a":',
    '[1,',
    'nul',
    '{"__proto__":1}',
    '\ufeff{}',
    '1e999',
    '['.repeat(300),
  );
  return fc.oneof(
    { weight: 30, arbitrary: fromSchema(schema, document).map((value) => ({ json: value })) },
    { weight: 3, arbitrary: json.map((value) => ({ json: value })) },
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: broken.map((value) => ({ text: value })) },
  );
}

function mostly<T>(usual: Arbitrary<T>, odd: Arbitrary<T | unknown>): Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

function known(name: string, schema: Schema, document: OpenApi, path = ''): Arbitrary<unknown> {
  if (path.startsWith('/workflow/catalog')) return KNOWN.catalog!;
  return Object.hasOwn(KNOWN, name) ? KNOWN[name]! : fromSchema(schema, document);
}

/** Values that fit the schema, or nearly. */
function fromSchema(schema: Schema, document: OpenApi): Arbitrary<unknown> {
  const { $ref, anyOf, oneOf, enum: choices, const: constant, type } = schema;
  if (typeof $ref === 'string')
    return fromSchema(document.components.schemas[$ref.split('/').at(-1)!]!, document);
  const branches = (anyOf ?? oneOf) as Schema[] | undefined;
  if (branches) return fc.oneof(...branches.map((branch) => fromSchema(branch, document)));
  if (Array.isArray(choices)) return fc.constantFrom(...choices);
  if (constant !== undefined) return fc.constant(constant);
  switch (type) {
    case 'string':
      return schema.format === 'date-time' ? fc.date({ noInvalidDate: true }).map(isoText) : text;
    case 'integer':
    case 'number': {
      const { minimum = 0, maximum = 2_000 } = schema as { minimum?: number; maximum?: number };
      return fc.integer({ min: Math.max(minimum, -2_000) - 1, max: Math.min(maximum, 2_000) + 1 });
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(fromSchema((schema.items ?? {}) as Schema, document), { maxLength: 3 });
    case 'object':
      return objectOf(schema, document);
    default:
      return json;
  }
}

function objectOf(schema: Schema, document: OpenApi): Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  // A call that names no timeout waits half a minute, which is no hang and yet not to be waited for.
  const required = ['timeout', ...((schema.required ?? []) as string[])];
  const values = properties.map(([name, property]) => {
    const odd = name === 'timeout' ? fc.constantFrom(0, -1, 1.5, '5', [], 4_000_000) : json;
    return [name, mostly(known(name, property, document), odd)] as const;
  });
  const fitting = fc.record(Object.fromEntries(values), {
    requiredKeys: required.filter((name) => values.some(([each]) => each === name)),
  });
  return fitting;
}

const isoText = (date: Date): string => {
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9999 ? date.toISOString() : '2026-01-01T00:00:00Z';
};

/** What HTTP itself lets through in a header. */
function headerText(value: unknown): string {
  return String(value).replace(/[^\x20-\x7e]/g, '?');
}
