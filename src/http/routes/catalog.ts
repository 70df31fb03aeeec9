/** Which workflows there are, with their schemas. */
import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../core/catalog.js';
import { PerdureError } from '../../core/errors.js';
import type { RouteContext } from '../context.js';
import { CatalogPath, parse } from '../schemas.js';

export function catalogRoutes(app: FastifyInstance, { engine, defaultCatalog }: RouteContext): void {
  app.get('/workflow/catalog', async (_request, reply) => {
    const catalog = await engine.catalog(defaultCatalog);
    return reply.send(catalog ? listing(catalog) : { catalog: defaultCatalog, workflows: [] });
  });

  app.get('/workflow/catalog/:id', async (request, reply) => {
    const { id } = parse(CatalogPath, request.params);
    const catalog = await engine.catalog(id);
    if (!catalog)
      throw new PerdureError('CatalogNotFoundError', `Nobody ever registered the catalog "${id}"`);
    return reply.send(listing(catalog));
  });
}

function listing({ catalog, workflows }: Catalog): object {
  return { catalog, workflows: workflows.map(({ entry }) => entry) };
}
