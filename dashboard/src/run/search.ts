import { oneOf, type RawSearch, text } from '../app/search-values.js';

export const TABS = ['timeline', 'steps', 'events', 'data', 'related'] as const;
export type Tab = (typeof TABS)[number];

export interface RunSearch {
  tab?: Tab;
  /** The event whose detail is open: of a step or timer, the one that it began with. */
  open?: string;
}

export function runSearch(search: RawSearch): RunSearch {
  const open = text(search.open);
  return {
    tab: oneOf(TABS, search.tab),
    open: open !== undefined && /^[1-9]\d*$/.test(open) ? open : undefined,
  };
}
