/** The filters of the list, as they stand in the address. */
import type { RunStatus } from 'perdure/client';
import { oneOf, type RawSearch, text } from '../app/search-values.js';

export const STATUSES = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
  'continued_as_new',
] as const satisfies readonly RunStatus[];

/** How far back, by the name that stands in the address. */
export const RANGES = {
  '15m': { label: 'Last 15 minutes', ms: 15 * 60_000 },
  '1h': { label: 'Last hour', ms: 60 * 60_000 },
  '24h': { label: 'Last 24 hours', ms: 24 * 60 * 60_000 },
  '7d': { label: 'Last 7 days', ms: 7 * 24 * 60 * 60_000 },
  '30d': { label: 'Last 30 days', ms: 30 * 24 * 60 * 60_000 },
} as const;
export type Range = keyof typeof RANGES;

export interface RunsSearch {
  workflow?: string;
  catalog?: string;
  state?: RunStatus | 'heldBack' | 'paused';
  /** An id, or with a `*` at its end what it starts with. */
  id?: string;
  since?: Range;
  /** ISO times, in place of `since`. */
  from?: string;
  to?: string;
}

export function runsSearch(search: RawSearch): RunsSearch {
  const from = instant(search.from);
  const to = instant(search.to);
  return {
    workflow: text(search.workflow),
    catalog: text(search.catalog),
    state: oneOf([...STATUSES, 'paused', 'heldBack'] as const, search.state),
    id: text(search.id),
    since: from || to ? undefined : oneOf(Object.keys(RANGES) as Range[], search.since),
    from,
    to,
  };
}

function instant(value: unknown): string | undefined {
  const given = text(value);
  return given !== undefined && !Number.isNaN(Date.parse(given)) ? new Date(given).toISOString() : undefined;
}
