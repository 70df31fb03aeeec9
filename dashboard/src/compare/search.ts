import { type RawSearch, text } from '../app/search-values.js';

/** Two runs, each by its workflow's id and its own. */
export interface CompareSearch {
  leftId?: string;
  leftRun?: string;
  rightId?: string;
  rightRun?: string;
}

export const compareSearch = (search: RawSearch): CompareSearch => ({
  leftId: text(search.leftId),
  leftRun: text(search.leftRun),
  rightId: text(search.rightId),
  rightRun: text(search.rightRun),
});
