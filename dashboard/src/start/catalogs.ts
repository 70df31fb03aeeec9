/** The catalogs that the page knows of: the default one, those that were ever registered, and those of runs. */
import { useQuery } from '@tanstack/react-query';
import { catalogQuery, catalogsOfRunsQuery, workersQuery } from '../app/queries.js';

export function useCatalogNames(chosen: string | undefined): string[] {
  const { data: main } = useQuery(catalogQuery());
  const { data: served } = useQuery(workersQuery);
  const { data: used = [] } = useQuery(catalogsOfRunsQuery);
  const names = [main?.catalog, chosen, ...(served?.catalogs ?? []), ...used];
  return [...new Set(names.filter((name) => name !== undefined))];
}
