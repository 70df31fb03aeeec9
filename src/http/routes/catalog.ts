/** Which workflows there are, with their schemas. */
import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../core/catalog.js';
import { PerdureError } from '../../core/errors.js';
import type { RouteContext } from '../context.js';
import { route } from '../operation.js';
import { CatalogAnswer } from '../wire/answers.js';
import { CatalogPath } from '../wire/schemas.js';

export function catalogRoutes(app: FastifyInstance, { engine, defaultCatalog }: RouteContext): void {
  const answers = { 200: { description: 'The workflows.', schema: CatalogAnswer } };

  route(
    app,
    {
      id: 'getDefaultCatalog',
      method: 'GET',
      path: '/workflow/catalog',
      tag: 'catalog',
      summary: 'The workflows of the default catalog; none while no worker has registered',
      answers,
    },
    async ({ reply }) => {
      const catalog = await engine.catalog(defaultCatalog);
      return reply.send(catalog ? listing(catalog) : { catalog: defaultCatalog, workflows: [] });
    },
  );

  route(
    app,
    {
      id: 'getCatalog',
      method: 'GET',
      path: '/workflow/catalog/:id',
      tag: 'catalog',
      summary: 'The workflows of one catalog',
      params: CatalogPath,
      answers,
      errors: ['CatalogNotFoundError'],
    },
    async ({ params: { id }, reply }) => {
      const catalog = await engine.catalog(id);
      if (!catalog)
        throw new PerdureError('CatalogNotFoundError', `Nobody ever registered the catalog "${id}"`);
      return reply.send(listing(catalog));
    },
  );
}

function listing({ catalog, workflows }: Catalog): object {
  return {
    catalog,
    workflows: workflows.map(({ entry, accepts, version }) => ({
      ...entry,
      ...(accepts && { accepts }),
      ...(version && { version }),
    })),
  };
}
