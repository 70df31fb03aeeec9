/** The document for one workflow: valid, typed by the workflow's own schemas, and true to what the server takes. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/cli/program.fixture.js';
import { type ApiError, type Client, createClient } from '../../src/client/index.js';
import type { CatalogEntry } from '../../src/core/catalog.js';
import { workflowDocument } from '../../src/http/openapi/workflow-document.js';
import { type HttpSystem, startSystem } from '../http/system.js';

type Json = Record<string, unknown>;
interface Document {
  info: { title: string };
  paths: Record<string, Record<string, { operationId: string }>>;
  components: { schemas: Record<string, Json> };
}

let system: HttpSystem;
let client: Client;
let base: Json;

beforeAll(async () => {
  system = await startSystem({ directory: EXAMPLES });
  client = createClient({ baseUrl: system.server.url });
  base = await client.openapi();
});
afterAll(() => system.stop());

async function problems(document: unknown): Promise<unknown> {
  const validator = new Validator();
  const { errors } = await validator.validate(structuredClone(document) as Json);
  return errors ?? [];
}

/** Whether a value fits what the document has at a JSON pointer. */
function checker(document: unknown) {
  const ajv = new Ajv2020({ strict: false, logger: false });
  addFormats.default(ajv);
  ajv.addSchema(document as Json, 'openapi');
  return (path: string, method: string, where: string, value: unknown): boolean => {
    const escaped = path.replaceAll('~', '~0').replaceAll('/', '~1');
    const place = `/paths/${encodeURIComponent(escaped)}/${method}/${where}/content/application~1json/schema`;
    return ajv.compile({ $ref: `openapi#${place}` })(value) as boolean;
  };
}

describe('the document of a workflow', () => {
  it('is valid for every example, and refers only to what it has', async () => {
    const { workflows } = await client.catalog();
    expect(workflows.length).toBeGreaterThanOrEqual(5);
    for (const { name } of workflows) {
      const document = (await client.openapi({ workflow: name })) as unknown as Document;
      expect(await problems(document)).toEqual([]);
      for (const [, target] of JSON.stringify(document).matchAll(
        /"\$ref":"#\/components\/schemas\/([^"/]+)/g,
      ))
        expect(document.components.schemas).toHaveProperty([target!]);
      const ids = Object.values(document.paths).flatMap((methods) =>
        Object.values(methods).map((each) => each.operationId),
      );
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('types the input, the output and the messages', async () => {
    const document = (await client.openapi({ workflow: 'order' })) as unknown as Document;
    expect(document.info.title).toBe('perdure: order');
    const fits = checker(document);
    const start = (input: unknown, workflowName = 'order') =>
      fits('/workflow/start', 'post', 'requestBody', { workflowName, input });
    expect(start({ orderId: 'A', cents: 1 })).toBe(true);
    expect(start({ orderId: 'A', cents: 0 })).toBe(false);
    expect(start({ orderId: 'A' })).toBe(false);
    expect(start({ orderId: 'A', cents: 1 }, 'greeting')).toBe(false);
    expect(fits('/workflow/run', 'post', 'requestBody', { workflowName: 'order', input: {} })).toBe(false);

    const signal = '/workflow/{id}/signal/approve';
    expect(document.paths[signal]!.post!.operationId).toBe('signalOrderApprove');
    expect(fits(signal, 'post', 'requestBody', { payload: { by: 'ada' } })).toBe(true);
    expect(fits(signal, 'post', 'requestBody', { payload: {} })).toBe(false);
    expect(fits('/workflow/{id}/query/status', 'post', 'responses/200', 'charging')).toBe(true);
    expect(fits('/workflow/{id}/query/status', 'post', 'responses/200', 1)).toBe(false);

    const answer = (output: unknown, status = 'completed') => ({
      ...{ v: '2', workflowId: 'w', runId: '01900000-0000-7000-8000-000000000001', status },
      ...{ input: null, output, trace: null, error: null },
    });
    for (const path of ['/workflow/{id}/result', '/workflow/{id}/runs/{rid}/result']) {
      expect(fits(path, 'get', 'responses/200', answer({ outcome: 'shipped' }))).toBe(true);
      expect(fits(path, 'get', 'responses/200', answer({ outcome: 'lost' }))).toBe(false);
      expect(fits(path, 'get', 'responses/200', answer(null, 'failed'))).toBe(true);
    }
    expect(fits('/workflow/run', 'post', 'responses/200', answer({ outcome: 'lost' }))).toBe(false);
  });

  it('leaves the document of all operations as it is', async () => {
    await client.openapi({ workflow: 'order' });
    expect(await client.openapi()).toEqual(base);
  });

  it('is refused for what is not there', async () => {
    const refusal = (query: { workflow?: string; catalog?: string }) =>
      client.openapi(query).catch((error: ApiError) => [error.name, error.status]);
    expect(await refusal({ workflow: 'nope' })).toEqual(['UnsupportedWorkflowError', 424]);
    const impatient = createClient({ baseUrl: system.server.url, retryForMs: 0 });
    await expect(impatient.openapi({ workflow: 'order', catalog: 'nope' })).rejects.toMatchObject({
      name: 'CatalogNotAvailableError',
    });
    expect(await refusal({ catalog: 'default' })).toEqual(['ValidationError', 400]);
    expect(await refusal({ workflow: 'a b' })).toEqual(['ValidationError', 400]);
  });
});

describe('schemas of any kind', () => {
  const entry = (inputSchema: Json, more: Partial<CatalogEntry> = {}): CatalogEntry => ({
    ...{
      name: 'w',
      description: null,
      path: 'w',
      inputSchema,
      outputSchema: null,
      aliases: ['v'],
      steps: [],
    },
    ...{ signals: [], queries: [], updates: [], ...more },
  });
  const start = (document: unknown, input: unknown, workflowName = 'w') =>
    checker(document)('/workflow/start', 'post', 'requestBody', { workflowName, input });

  it('may refer to themselves and to their definitions', async () => {
    const document = workflowDocument(
      base,
      entry({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          leaf: { $ref: '#/$defs/a~1b' },
          next: { $ref: '#' },
          same: { $ref: '#/properties/leaf' },
        },
        $defs: { 'a/b': { type: 'array', items: { $ref: '#/$defs/number' } }, number: { type: 'number' } },
      }),
    );
    expect(await problems(document)).toEqual([]);
    expect(start(document, { leaf: [1], next: { next: { same: [2] } } })).toBe(true);
    expect(start(document, { next: { next: { leaf: ['x'] } } })).toBe(false);
    expect(start(document, { same: ['x'] })).toBe(false);
    expect(start(document, {}, 'v')).toBe(true);
  });

  it('may have properties and values that look like references', async () => {
    const looks = {
      properties: { $ref: { type: 'string' }, $id: { const: { $ref: '#/$defs/x' } } },
      required: ['$ref'],
    };
    const document = workflowDocument(base, entry(looks));
    expect(start(document, { $ref: 'x', $id: { $ref: '#/$defs/x' } })).toBe(true);
    expect(start(document, { $ref: 1 })).toBe(false);
  });

  it('may have identifiers of their own: then anything is documented, and the server still checks', async () => {
    const document = workflowDocument(
      base,
      entry({ $id: 'https://a.example/s', $ref: '#x', $defs: { x: { $anchor: 'x' } } }),
    );
    expect(await problems(document)).toEqual([]);
    expect(start(document, 'anything')).toBe(true);
  });

  it('belong to messages of any name, each under an operation of its own', async () => {
    const signals = ['a b', 'a_b', '{x}', 'ü/?#'].map((name) => ({ name, inputSchema: { type: 'string' } }));
    const document = workflowDocument(base, entry({}, { signals })) as unknown as Document;
    expect(await problems(document)).toEqual([]);
    const paths = Object.keys(document.paths).filter((path) => path.startsWith('/workflow/{id}/signal/'));
    expect(paths.sort()).toEqual(
      ['{name}', ...signals.map(({ name }) => encodeURIComponent(name))]
        .map((each) => `/workflow/{id}/signal/${each}`)
        .sort(),
    );
    expect(new Set(paths.map((path) => document.paths[path]!.post!.operationId)).size).toBe(5);
  });
});
