import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call, engine, serve, server } from '../served.fixture.js';

afterEach(() => server.close());

describe('catalog', () => {
  beforeEach(() => serve());

  it('lists the default catalog and others by name', async () => {
    for (const path of ['/workflow/catalog', '/workflow/catalog/default']) {
      const body = (await (await call(path)).json()) as { catalog: string; workflows: object[] };
      expect(body.catalog).toBe('default');
      expect(body.workflows[0]).toEqual({
        name: 'echo',
        description: null,
        path: 'echo/workflow.ts',
        inputSchema: null,
        outputSchema: null,
        aliases: ['repeat_after_me'],
        steps: [],
        signals: [],
        queries: [],
        updates: [],
        accepts: { input: {}, signals: {}, queries: {}, updates: {} },
      });
    }
    const unknown = await call('/workflow/catalog/unknown');
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ error: 'CatalogNotFoundError' });
  });

  it('is empty while no worker has registered', async () => {
    engine.catalogs.clear();
    expect(await (await call('/workflow/catalog')).json()).toEqual({ catalog: 'default', workflows: [] });
  });
});
