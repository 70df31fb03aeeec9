import { type RawSearch, text } from '../app/search-values.js';

export interface StartSearch {
  workflow?: string;
  catalog?: string;
  /** Starts again: with the input of this run. */
  likeWorkflowId?: string;
  likeRunId?: string;
}

export const startSearch = (search: RawSearch): StartSearch => ({
  workflow: text(search.workflow),
  catalog: text(search.catalog),
  likeWorkflowId: text(search.likeWorkflowId),
  likeRunId: text(search.likeRunId),
});
