/** The OpenAPI document: complete, valid, and at one with the routes, the table of errors and what is thrown. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_STATUS, type ErrorName } from '../../src/core/errors.js';
import { Client } from './client.js';
import type { DocumentedOperation, OpenApi } from './conformance.js';
import { type HttpSystem, startSystem } from './system.js';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

let system: HttpSystem;
let client: Client;
let document: OpenApi;
let operations: { route: string; operation: DocumentedOperation }[];

beforeAll(async () => {
  system = await startSystem({ workers: false });
  client = await Client.connect(system.server.url);
  document = client.conformance.document;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
});
afterAll(() => system.stop());

/** Names of errors in a response of the document. */
function errorNames(response: DocumentedOperation['responses'][string]): string[] {
  const schema = response.content?.['application/json']?.schema ?? {};
  const branches = (schema.oneOf ?? [schema]) as { $ref?: string }[];
  return branches.flatMap(({ $ref }) => ($ref?.endsWith('Error') ? [$ref.split('/').at(-1)!] : []));
}

const isError = (status: string) => Number(status) >= 400;

describe('the document', () => {
  it('is valid OpenAPI 3.1, version 1.0.0', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document) as unknown as Record<string, unknown>);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
    expect(document.info.version).toBe('1.0.0');
  });

  it('has every route that is served, and no other', () => {
    const served = system.server.routes
      .filter((route) => !route.startsWith('HEAD '))
      .map((route) => route.replace(/:(\w+)/g, '{$1}'));
    expect(operations.map(({ route }) => route).sort()).toEqual(served.sort());
    expect(served.length).toBeGreaterThan(25);
  });

  it('names every operation once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('refers only to what it has', () => {
    for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
      expect(document.components.schemas).toHaveProperty(name!);
    }
    expect(JSON.stringify(document)).not.toContain('#/$defs/');
  });

  it('names only errors of the table, under their statuses', () => {
    for (const { route, operation } of operations) {
      for (const [status, response] of Object.entries(operation.responses)) {
        for (const name of errorNames(response)) {
          expect(ERROR_STATUS[name as ErrorName], `${route} ${name}`).toBe(Number(status));
        }
        if (isError(status) && route !== 'GET /ready') {
          expect(errorNames(response), `${route} ${status}`).not.toEqual([]);
        }
      }
    }
  });

  it('has every error of the table', () => {
    const documented = new Set(
      Object.keys(document.components.schemas).filter((name) => name.endsWith('Error')),
    );
    documented.delete('SerializedWorkflowError');
    expect([...documented].sort()).toEqual(Object.keys(ERROR_STATUS).sort());
  });

  it('names no error that nothing throws', () => {
    const thrown = new Set<string>();
    for (const path of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.ts') || /\.(test|fixture)\.ts$/.test(path)) continue;
      const text = readFileSync(join(SRC, path), 'utf8');
      // `new PerdureError('X'`, also chosen between two names, and the table of what the framework refuses.
      for (const [, argument] of text.matchAll(/new PerdureError\(([^;]*?);/gs)) {
        for (const [, name] of argument!.matchAll(/'(\w+Error)'/g)) thrown.add(name!);
      }
      for (const [, name] of text.matchAll(/^ {2}\w+: \[\s*'(\w+Error)'/gm)) thrown.add(name!);
    }
    // The contract has it for operations that not every engine has; so far every engine has all of them.
    thrown.add('NotSupportedByEngineError');
    const documented = Object.keys(ERROR_STATUS).filter((name) => name in document.components.schemas);
    expect(documented.filter((name) => !thrown.has(name))).toEqual([]);
  });

  it('says what every operation takes', () => {
    for (const { route, operation } of operations) {
      const inPath = [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const parameters = operation.parameters ?? [];
      expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(inPath);
      for (const { name, schema } of parameters) expect(schema, `${route} ${name}`).not.toEqual({});
    }
  });

  it('asks for credentials everywhere but at the probes, for the page and of those who call back', () => {
    const open = operations.filter(({ operation }) => operation.security?.length === 0);
    expect(open.map(({ route }) => route).sort()).toEqual([
      'GET /health',
      'GET /ready',
      'GET /ui',
      'GET /ui/*',
      'GET /ui/assets/{asset}',
      'POST /callback/{token}',
    ]);
    for (const { operation } of operations) {
      expect('401' in operation.responses).toBe(operation.security === undefined);
    }
  });

  it('marks what is deprecated', () => {
    const deprecated = operations.filter(({ operation }) => operation.deprecated);
    expect(deprecated.map(({ route }) => route).sort()).toEqual([
      'PATCH /workflow/{id}/stop',
      'POST /workflow/{id}/reset',
      'POST /workflow/{id}/terminate',
    ]);
    for (const { operation } of deprecated) {
      expect(operation.responses[200]?.headers).toMatchObject({
        Deprecation: expect.anything(),
        Sunset: expect.anything(),
        Link: expect.anything(),
      });
    }
  });
});

describe('the page', () => {
  it('shows the document and loads nothing from elsewhere', async () => {
    const page = await client.get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).not.toMatch(/https?:|"\/\//);
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toMatch(/\*|https?:/);
    const assets = [...page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => path!);
    expect(assets).toHaveLength(3);
    for (const asset of assets) {
      const loaded = await client.get(`/${asset}`);
      expect(loaded.status).toBe(200);
      expect(loaded.text.length).toBeGreaterThan(50);
      expect(loaded.headers.get('content-type')).toMatch(
        asset.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
      );
    }
    expect((await client.get('/docs/start.js')).text).toContain("url: 'openapi.json'");
  });

  it.each(['package.json', '..%2Fpackage.json', 'LICENSE'])('serves no other file: %s', async (name) => {
    expect((await client.get(`/docs/${name}`)).status).toBe(400);
  });
});
