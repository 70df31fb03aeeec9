/**
 * The OpenAPI document for one workflow: the ordinary one, in which starting it, its result and its messages have the
 * types of its own schemas, so that a generator of any language makes a typed client of it.
 *
 * The schemas are the author's. Each becomes a component of its own, and so do its definitions, since a reference
 * inside of a document counts from the document's root.
 */
import type { CatalogEntry, HandlerEntry, JsonSchema } from '../../core/catalog.js';

type Json = Record<string, unknown>;
interface Document {
  info: Json;
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> };
}

/** `base` is the document of all operations; it is left as it is. */
export function workflowDocument(base: Json, entry: CatalogEntry): Json {
  const document = structuredClone(base) as unknown as Document;
  const typed = new TypedDocument(document, entry);
  typed.typeStart();
  typed.typeResults();
  typed.addMessages('signal', entry.signals);
  typed.addMessages('query', entry.queries);
  typed.addMessages('update', entry.updates);
  const about = entry.description === null ? '' : ` ${entry.description}`;
  document.info = {
    ...document.info,
    title: `perdure: ${entry.name}`,
    description: `The API with the types of the workflow \`${entry.name}\`.${about}`,
  };
  return document as unknown as Json;
}

class TypedDocument {
  /** What its components and operations are named after. */
  readonly #name: string;
  readonly #input: Json;
  readonly #output: Json;
  readonly #operationIds: Set<string>;

  constructor(
    private readonly document: Document,
    private readonly entry: CatalogEntry,
  ) {
    this.#name = capitalized(entry.name);
    this.#input = this.#component(`${this.#name}Input`, entry.inputSchema);
    this.#output = this.#component(`${this.#name}Output`, entry.outputSchema);
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    this.#operationIds = new Set(operations.map(({ operationId }) => operationId as string));
  }

  typeStart(): void {
    for (const how of ['run', 'start']) {
      const operation = this.document.paths[`/workflow/${how}`]!.post!;
      operation.operationId = this.#operationId(`${how}${this.#name}`);
      operation.summary = `${operation.summary}: ${this.entry.name}`;
      const body = bodyOf(operation);
      body.schema = {
        ...body.schema,
        properties: {
          ...(body.schema.properties as Json),
          workflowName: { type: 'string', enum: [this.entry.name, ...this.entry.aliases] },
          input: this.#input,
        },
        required: ['workflowName', 'input'],
      };
    }
  }

  typeResults(): void {
    const result = `${this.#name}Result`;
    const { schemas } = this.document.components;
    for (const [name, source] of [
      [result, 'WorkflowResult'],
      [`Legacy${result}`, 'LegacyWorkflowResult'],
    ] as const) {
      const properties = schemas[source]!.properties as Json;
      // Both are null where there is none: an input that is not kept, the output of a run that failed.
      const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] });
      schemas[name] = {
        ...schemas[source],
        properties: { ...properties, input: orNull(this.#input), output: orNull(this.#output) },
      };
    }
    const { paths } = this.document;
    for (const operation of [
      paths['/workflow/run']!.post!,
      paths['/workflow/{id}/result']!.get!,
      paths['/workflow/{id}/runs/{rid}/result']!.get!,
    ]) {
      answerOf(operation).schema = { anyOf: [reference(result), reference(`Legacy${result}`)] };
    }
  }

  /** An operation for each message that is declared, beside the one that takes its name. */
  addMessages(kind: 'signal' | 'query' | 'update', declared: HandlerEntry[]): void {
    const general = this.document.paths[`/workflow/{id}/${kind}/{name}`]!.post!;
    for (const { name, description, inputSchema, outputSchema } of declared) {
      const operation = structuredClone(general);
      const named = `${this.#name}${capitalized(name.replaceAll(/[^A-Za-z0-9_]/g, '_'))}`;
      operation.operationId = this.#operationId(`${kind}${named}`);
      operation.summary = description ?? `${operation.summary}: ${name}`;
      operation.parameters = (operation.parameters as Json[]).filter((each) => each.name !== 'name');
      const component = `${named}${capitalized(kind)}`;
      if (inputSchema) {
        const body = bodyOf(operation);
        const payload = this.#component(`${component}Payload`, inputSchema);
        body.schema = { type: 'object', properties: { payload }, required: ['payload'] };
        (operation.requestBody as Json).required = true;
      }
      if (outputSchema && kind !== 'signal')
        answerOf(operation).schema = this.#component(`${component}Reply`, outputSchema);
      this.document.paths[`/workflow/{id}/${kind}/${encodeURIComponent(name)}`] = { post: operation };
    }
  }

  #operationId(wanted: string): string {
    const id = unused(wanted, (each) => this.#operationIds.has(each));
    this.#operationIds.add(id);
    return id;
  }

  /** A reference to the schema, which is a component from now on. */
  #component(wanted: string, schema: JsonSchema | null): Json {
    if (schema === null) return {};
    const { schemas } = this.document.components;
    const name = unused(wanted, (each) => each in schemas);
    if (!isMovable(schema)) {
      schemas[name] = {
        description: 'Its schema has identifiers of its own and cannot be part of this document.',
      };
      return reference(name);
    }
    const { $defs = {}, $schema: _, ...rest } = schema;
    // The names are taken before the bodies are written, which may refer to any of them.
    schemas[name] = {};
    const moved = new Map<string, string>([['#', name]]);
    for (const key of Object.keys($defs as Json)) {
      const own = unused(`${name}_${key.replaceAll(/[^A-Za-z0-9._-]/g, '_')}`, (each) => each in schemas);
      schemas[own] = {};
      moved.set(`#/$defs/${escapePointer(key)}`, own);
    }
    for (const [key, definition] of Object.entries($defs as Json)) {
      schemas[moved.get(`#/$defs/${escapePointer(key)}`)!] = relinked(definition, moved) as Json;
    }
    schemas[name] = relinked(rest, moved) as Json;
    return reference(name);
  }
}

const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

function unused(wanted: string, isTaken: (name: string) => boolean): string {
  let name = wanted;
  for (let n = 2; isTaken(name); n++) name = `${wanted}_${n}`;
  return name;
}

type Content = { content: Record<string, { schema: Json }> };
const bodyOf = (operation: Json) => (operation.requestBody as Content).content['application/json']!;
const answerOf = (operation: Json) =>
  (operation.responses as Record<string, Content>)[200]!.content['application/json']!;

/** Keywords whose members are schemas under names of the author's choice, and those that hold plain values. */
const NAMED = ['properties', 'patternProperties', '$defs', 'dependentSchemas'];
const VALUES = ['const', 'enum', 'default', 'examples'];

type Visit = (schema: Json) => Json;

/** A copy of the schema in which `visit` has had every schema that is in it, itself included. */
function mapped(schema: unknown, visit: Visit): unknown {
  if (Array.isArray(schema)) return schema.map((each) => mapped(each, visit));
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([key, value]) => {
    if (VALUES.includes(key)) return [key, value];
    if (!NAMED.includes(key)) return [key, mapped(value, visit)];
    return [
      key,
      Object.fromEntries(Object.entries(value as Json).map(([name, each]) => [name, mapped(each, visit)])),
    ];
  });
  return visit(Object.fromEntries(members) as Json);
}

/** Whether its references are all by place, so that moving it is a matter of the first part of each. */
function isMovable(schema: JsonSchema): boolean {
  let isMoved = true;
  mapped(schema, (each) => {
    if (['$id', '$anchor', '$dynamicAnchor', '$dynamicRef'].some((key) => key in each)) isMoved = false;
    return each;
  });
  return isMoved;
}

function relinked(schema: unknown, moved: ReadonlyMap<string, string>): unknown {
  return mapped(schema, (each) =>
    typeof each.$ref === 'string' ? { ...each, $ref: newPlace(each.$ref, moved) } : each,
  );
}

/** Where the target of a reference has gone, by the longest part of it that was moved. */
function newPlace(ref: string, moved: ReadonlyMap<string, string>): string {
  for (let place = ref; place !== ''; place = place.slice(0, Math.max(0, place.lastIndexOf('/')))) {
    const name = moved.get(place);
    if (name !== undefined) return `#/components/schemas/${name}${ref.slice(place.length)}`;
  }
  return ref;
}
