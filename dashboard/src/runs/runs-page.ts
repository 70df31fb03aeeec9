/** One page of runs, each with why it is where it is. */
import type { CallOptions, RunListEntry } from 'perdure/client';
import { client } from '../app/api.js';
import { serverNow } from '../app/clock.js';
import { RANGES, type RunsSearch } from './search.js';

export type Run = RunListEntry;

export type Filter = Parameters<typeof client.runsPage>[0];

export function filterOf({ workflow, catalog, state, id, since, from, to }: RunsSearch): Filter {
  return {
    workflowType: workflow,
    catalog,
    workflowIdPrefix: id,
    ...(state === 'heldBack' || state === 'paused' ? { [state]: 'true' } : { status: state }),
    startedAfter: since ? new Date(serverNow() - RANGES[since].ms).toISOString() : from,
    startedBefore: to,
  };
}

export function runsPage(
  query: Filter & CallOptions & { limit?: number; cursor?: string },
): Promise<{ runs: Run[]; nextCursor: string | null }> {
  return client.runsPage({ ...query, why: true });
}
