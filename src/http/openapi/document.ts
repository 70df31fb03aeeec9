/**
 * The OpenAPI 3.1 document, made of the operations that are served and of the table of errors.
 *
 * 1. Parameters and bodies are the very schemas that validate; nothing is written twice.
 * 2. Every error an operation can give is named there, each with a schema of its own, so that a generated client can
 *    tell them apart by `error`.
 */
import { z } from 'zod';
import { ERROR_STATUS, type ErrorName } from '../../core/errors.js';
import type { Answer, Operation } from '../operation.js';
import { NoBody } from '../wire/schemas.js';

type Json = Record<string, unknown>;

export function openApiDocument(operations: Iterable<Operation>): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation, components) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'perdure',
      version: '1.0.0',
      description:
        'Starts durable workflows and reads, steers and messages their runs. ' +
        'An unknown path is 404 `NotFoundError`, a known one with another method 405 `MethodNotAllowedError` with `Allow`. ' +
        'GET operations answer HEAD as well.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { basic: [] }],
    tags: TAGS,
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: {
          type: 'http',
          scheme: 'basic',
          description:
            'The token as password with any user, or the token itself in place of the credentials.',
        },
      },
      responses: {
        NotFound: errorAnswer(['NotFoundError'], components),
        MethodNotAllowed: errorAnswer(['MethodNotAllowedError'], components),
        NotSupportedByEngine: errorAnswer(['NotSupportedByEngineError'], components),
      },
      schemas: components.schemas,
    },
  };
}

const TAGS = [
  { name: 'start', description: 'Starting workflows' },
  { name: 'runs', description: 'What became of a run' },
  { name: 'history', description: 'The events of a run' },
  { name: 'control', description: 'Stopping, terminating and resetting runs' },
  { name: 'cost', description: 'What runs have spent, and what they may' },
  { name: 'messages', description: 'Signals, queries and updates; always to the latest run' },
  { name: 'catalog', description: 'Which workflows there are' },
  { name: 'service', description: 'The service itself' },
];

/** All errors that the operation can give: its own, and those that come with its kind. */
export function errorsOf(operation: Operation): ErrorName[] {
  const errors = new Set<ErrorName>(operation.errors);
  if (!operation.isOpen) {
    for (const name of GUARDED_ERRORS) errors.add(name);
  }
  // Whoever looks for a run may find one whose stored form is damaged.
  if (errors.has('WorkflowNotFoundError')) errors.add('DataCorruptionError');
  if (operation.params ?? operation.query ?? operation.headers) errors.add('ValidationError');
  // Also an operation that reads no body refuses one that is none.
  if (operation.method !== 'GET') {
    for (const name of BODY_ERRORS) errors.add(name);
  }
  return [...errors].sort();
}

/** The third: whoever shows too many wrong tokens. */
const GUARDED_ERRORS = [
  'UnauthorizedError',
  'EngineUnavailableError',
  'TooManyRequestsError',
  'InternalError',
] as const;

const BODY_ERRORS = [
  'ValidationError',
  'InvalidJsonError',
  'PayloadTooLargeError',
  'UnsupportedMediaTypeError',
] as const;

function describe(operation: Operation, components: Components): Json {
  const { id, tag, summary, description, deprecated, isOpen, body } = operation;
  const parameters = [
    ...parametersOf('path', operation.params, components),
    ...parametersOf('query', operation.query, components),
    ...parametersOf('header', operation.headers, components),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description && { description }),
    ...(deprecated && { deprecated }),
    ...(isOpen && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && body !== NoBody && { requestBody: requestBody(body, components) }),
    responses: responsesOf(operation, components),
  };
}

function requestBody(body: z.ZodType, components: Components): Json {
  return {
    required: !body.safeParse(undefined).success,
    content: { 'application/json': { schema: components.schemaOf(body, 'input') } },
  };
}

function parametersOf(where: string, schema: z.ZodObject | undefined, components: Components): Json[] {
  if (!schema) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, value]) => {
    const { description, deprecated, ...rest } = components.schemaOf(value, 'output');
    return {
      name: where === 'header' ? (HEADER_NAMES[name] ?? name) : name,
      in: where,
      ...(description !== undefined && { description }),
      ...(deprecated !== undefined && { deprecated }),
      required: !value.safeParse(undefined).success,
      schema: rest,
    };
  });
}

/** Node gives the names of headers in lower case; documents write them as people do. */
const HEADER_NAMES: Record<string, string> = {
  'idempotency-key': 'Idempotency-Key',
  'last-event-id': 'Last-Event-ID',
};

function responsesOf(operation: Operation, components: Components): Json {
  const responses: Json = {};
  for (const [status, answer] of Object.entries(operation.answers)) {
    responses[status] = success(answer, operation.deprecated === true, components);
  }
  const byStatus = new Map<number, ErrorName[]>();
  for (const name of errorsOf(operation)) {
    const status = ERROR_STATUS[name];
    byStatus.set(status, [...(byStatus.get(status) ?? []), name]);
  }
  for (const [status, names] of byStatus) {
    // A status may also have an answer of its own, such as 503 of /ready; then that one stands.
    responses[status] ??= errorAnswer(names, components, operation.deprecated);
  }
  return responses;
}

function success(answer: Answer, isDeprecated: boolean, components: Components): Json {
  const { description, schema, contentType = 'application/json', headers = {} } = answer;
  const extra = Object.entries(headers).map(([name, meaning]) => [
    name,
    { description: meaning, schema: { type: 'string' } },
  ]);
  return {
    description,
    headers: { ...REQUEST_ID, ...(isDeprecated && DEPRECATION), ...Object.fromEntries(extra) },
    ...(schema && { content: { [contentType]: { schema: components.schemaOf(schema, 'output') } } }),
  };
}

function errorAnswer(names: ErrorName[], components: Components, isDeprecated = false): Json {
  const schemas = names.map((name) => components.errorSchema(name));
  const retryAfter = names.some((name) => [429, 503, 507].includes(ERROR_STATUS[name]));
  return {
    description: names.join(', '),
    headers: {
      ...REQUEST_ID,
      ...(isDeprecated && DEPRECATION),
      ...(retryAfter && { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } }),
      ...(names.includes('UnauthorizedError') && { 'WWW-Authenticate': { schema: { type: 'string' } } }),
      ...(names.includes('MethodNotAllowedError') && { Allow: { schema: { type: 'string' } } }),
    },
    content: {
      'application/json': {
        schema: schemas.length === 1 ? schemas[0] : { oneOf: schemas, discriminator: discriminator(names) },
      },
    },
  };
}

const discriminator = (names: ErrorName[]): Json => ({
  propertyName: 'error',
  mapping: Object.fromEntries(names.map((name) => [name, `#/components/schemas/${name}`])),
});

const REQUEST_ID = {
  'X-Request-ID': { description: "The caller's own, or a generated one.", schema: { type: 'string' } },
};
const DEPRECATION = {
  Deprecation: { schema: { type: 'string' } },
  Sunset: { schema: { type: 'string' } },
  Link: { description: 'The successor.', schema: { type: 'string' } },
};

const ErrorAnswer = z.object({
  error: z.string(),
  message: z.string().meta({ description: 'For a person.' }),
  workflowId: z.string().nullable().optional(),
  runId: z.string().optional(),
});

const Issues = z.array(
  z.object({
    path: z.array(z.union([z.string(), z.int()])),
    message: z.string(),
    code: z.string(),
  }),
);

/** The schemas that the document names; each stands there once and is referred to. */
class Components {
  readonly schemas: Record<string, Json> = {};

  /** The JSON schema of what the schema takes (`input`) or makes of it (`output`). */
  schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
    // Inside another object also the outermost schema becomes a reference, if it has a name.
    const { $defs, properties } = z.toJSONSchema(z.object({ schema }), {
      io,
      override: ({ zodSchema, jsonSchema }) => {
        const { def } = zodSchema._zod;
        // Fields may be added to answers; only what says so has no others.
        if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
      },
    }) as unknown as { $defs?: Record<string, Json>; properties: { schema: Json } };
    for (const [name, definition] of Object.entries($defs ?? {})) {
      const { id: _, ...described } = relink(definition) as Json;
      this.schemas[name] = described;
    }
    return relink(properties.schema) as Json;
  }

  errorSchema(name: ErrorName): Json {
    if (!(name in this.schemas)) {
      const isValidation = name === 'ValidationError';
      const schema = ErrorAnswer.extend({ error: z.literal(name), ...(isValidation && { issues: Issues }) });
      this.schemas[name] = this.schemaOf(schema, 'output');
    }
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** References from where zod puts definitions to where the document has them. */
function relink(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relink);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string'
        ? member.replace('#/$defs/', '#/components/schemas/')
        : relink(member),
    ]),
  );
}
