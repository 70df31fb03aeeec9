/** The catalogs that the page knows of: the default one, and those of connected workers. There is no list of all. */
import { useQuery } from '@tanstack/react-query';
import { catalogQuery, workersQuery } from '../app/queries.js';

export function useCatalogNames(chosen: string | undefined): string[] {
  const { data: main } = useQuery(catalogQuery());
  const { data: served } = useQuery(workersQuery);
  const names = [main?.catalog, chosen, ...(served?.workers ?? []).map(({ catalog }) => catalog)];
  return [...new Set(names.filter((name) => name !== undefined))];
}
