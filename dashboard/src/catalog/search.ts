import { type RawSearch, text } from '../app/search-values.js';

export interface CatalogSearch {
  catalog?: string;
  /** The one that is open. */
  workflow?: string;
}

export const catalogSearch = (search: RawSearch): CatalogSearch => ({
  catalog: text(search.catalog),
  workflow: text(search.workflow),
});
