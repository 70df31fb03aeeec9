/**
 * Holds answers against the OpenAPI document that the server itself gives: the status must be one that the operation
 * has, the body must fit its schema, and an error must be one that the operation names.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface DocumentedOperation {
  operationId: string;
  deprecated?: boolean;
  security?: unknown[];
  parameters?: {
    name: string;
    in: 'path' | 'query' | 'header';
    required: boolean;
    schema: Record<string, unknown>;
  }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Record<string, unknown> }> };
  responses: Record<
    string,
    {
      description: string;
      headers?: Record<string, unknown>;
      content?: Record<string, { schema: Record<string, unknown> }>;
    }
  >;
}

export interface OpenApi {
  info: { version: string };
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Record<string, Record<string, unknown>>; responses: Record<string, unknown> };
}

export interface Exchange {
  method: string;
  /** Path with query, as it was sent. */
  target: string;
  status: number;
  headers: Headers;
  text: string;
}

export class Conformance {
  /** `operationId status` and `operationId ErrorName` that were seen. */
  readonly seen = new Set<string>();
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false, logger: false });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #routes: { pattern: RegExp; rank: string; methods: Record<string, DocumentedOperation> }[];

  constructor(readonly document: OpenApi) {
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, 'openapi');
    this.#routes = Object.entries(document.paths)
      .map(([path, methods]) => ({
        pattern: new RegExp(
          `^${path
            .replaceAll('.', '\\.')
            .replace(/\{\w+\}/g, '[^/]*')
            .replace(/\*$/, '.*')}$`,
        ),
        // As the router does it: from left to right, a name goes before a parameter.
        rank: path
          .split('/')
          .map((part) => (part === '*' ? 'q' : part.startsWith('{') ? 'p' : 'a'))
          .join(''),
        methods,
      }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  }

  operation(method: string, target: string): DocumentedOperation | undefined {
    const path = target.split('?', 1)[0]!;
    const verb = method.toLowerCase();
    return this.#routes.find(({ pattern, methods }) => pattern.test(path) && verb in methods)?.methods[verb];
  }

  /** What is wrong with the answer, or undefined. */
  problem({ method, target, status, headers, text }: Exchange): string | undefined {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(headers.get('x-request-id') ?? '')) return 'has no X-Request-ID';
    const operation = this.operation(method, target);
    if (!operation) return [400, 404, 405].includes(status) ? undefined : 'is no documented operation';
    const { operationId } = operation;
    this.seen.add(`${operationId} ${status}`);
    const response = operation.responses[status];
    if (!response) return `${operationId} has no answer ${status} in the document: ${text.slice(0, 300)}`;
    if (operation.deprecated && status < 500 && status !== 401 && !headers.get('deprecation')) {
      return `${operationId} is deprecated and does not say so`;
    }
    if (!response.content) return text === '' ? undefined : `${operationId} ${status} has no body: ${text}`;
    const type = Object.keys(response.content)[0]!;
    const actual = (headers.get('content-type') ?? '').split(';')[0]!;
    if (type !== '*/*' && type !== actual) return `${operationId} ${status} is ${actual}, not ${type}`;
    if (type !== 'application/json') return undefined;
    const body: unknown = JSON.parse(text);
    if (status >= 400) this.seen.add(`${operationId} ${(body as { error?: string }).error}`);
    const pointer = `${pathPointer(this.document, operation)}/responses/${status}/content/application~1json/schema`;
    const validate = this.#validator(pointer);
    if (validate(body)) return undefined;
    return `${operationId} ${status}: ${JSON.stringify(validate.errors)} in ${text.slice(0, 500)}`;
  }

  #validator(pointer: string): ValidateFunction {
    let validate = this.#validators.get(pointer);
    if (!validate) {
      validate = this.#ajv.compile({ $ref: `openapi#${pointer}` });
      this.#validators.set(pointer, validate);
    }
    return validate;
  }
}

const pointers = new WeakMap<DocumentedOperation, string>();

function pathPointer(document: OpenApi, wanted: DocumentedOperation): string {
  const known = pointers.get(wanted);
  if (known) return known;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const escaped = path.replaceAll('~', '~0').replaceAll('/', '~1');
      pointers.set(operation, `/paths/${encodeURIComponent(escaped)}/${method}`);
    }
  }
  return pointers.get(wanted)!;
}
