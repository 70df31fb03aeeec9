/**
 * The OpenAPI document and a page that shows it. The page loads nothing from elsewhere: what it needs is part of the
 * package, copied there by the build.
 */
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PerdureError } from '../../core/errors.js';
import { JSON_TYPE, type RouteContext } from '../context.js';
import { openApiDocument } from '../openapi/document.js';
import { workflowDocument } from '../openapi/workflow-document.js';
import { type Operation, route } from '../operation.js';
import { CatalogName, Name } from '../wire/schemas.js';

/** The same place from src/ and from dist/. */
const ASSETS = new URL('../../../dist/docs/', import.meta.url);

const START_SCRIPT = `window.onload = () => {
  SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', validatorUrl: null, deepLinking: true });
};
`;

const Asset = z.enum(['swagger-ui.css', 'swagger-ui-bundle.js', 'start.js']);

// Relative addresses, so that the page also works behind a proxy that serves the API under a path.
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>perdure API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/** The page sets styles on elements, which counts as inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const DocumentQuery = z.object({
  workflow: Name.optional().meta({
    description: 'Gives the operations of this workflow the types of its own schemas.',
  }),
  catalog: CatalogName.optional().meta({
    description: 'Where that workflow is; the default catalog if none is given.',
  }),
});

export function docsRoutes(
  app: FastifyInstance,
  operations: Iterable<Operation>,
  { targets, defaultCatalog }: RouteContext,
): void {
  let document: Record<string, unknown> | undefined;
  let text: string | undefined;

  route(
    app,
    {
      id: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      tag: 'service',
      summary: 'This document, as it is or for one workflow',
      query: DocumentQuery,
      answers: { 200: { description: 'OpenAPI 3.1.', schema: z.record(z.string(), z.unknown()) } },
      errors: ['CatalogNotAvailableError', 'UnsupportedWorkflowError'],
    },
    async ({ query: { workflow, catalog }, reply }) => {
      document ??= openApiDocument(operations);
      reply.header('content-type', JSON_TYPE);
      if (workflow === undefined && catalog !== undefined) {
        const issue = { path: ['workflow'], message: 'is needed with a catalog', code: 'required' };
        throw new PerdureError('ValidationError', 'Invalid Payload', { issues: [issue] });
      }
      if (workflow === undefined) {
        text ??= JSON.stringify(document);
        return reply.send(text);
      }
      const { entry } = await targets.find(catalog ?? defaultCatalog, workflow);
      return reply.send(JSON.stringify(workflowDocument(document, entry)));
    },
  );

  route(
    app,
    {
      id: 'getDocs',
      method: 'GET',
      path: '/docs',
      tag: 'service',
      summary: 'A page that shows this document',
      answers: { 200: { description: 'HTML.', contentType: 'text/html', schema: z.string() } },
    },
    ({ reply }) =>
      reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', CONTENT_SECURITY_POLICY)
        .send(PAGE),
  );

  route(
    app,
    {
      id: 'getDocsAsset',
      method: 'GET',
      path: '/docs/:asset',
      tag: 'service',
      summary: 'What the page consists of',
      params: z.object({ asset: Asset }),
      answers: { 200: { description: 'Script or style.', contentType: '*/*', schema: z.string() } },
    },
    async ({ params: { asset }, reply }) => {
      const content = asset === 'start.js' ? START_SCRIPT : await readFile(new URL(asset, ASSETS));
      const type = asset.endsWith('.css') ? 'text/css' : 'text/javascript';
      return reply
        .header('content-type', `${type}; charset=utf-8`)
        .header('cache-control', 'private, max-age=3600')
        .send(content);
    },
  );
}
