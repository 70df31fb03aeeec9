/** What is fetched, once for all parts of the page that show it. */
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { ClientError, ConnectionError } from 'perdure/client';
import { client } from './api.js';
import { isConnected } from './connection.js';
import { admission } from './session.js';

const TRY_AGAIN_MS = 2_000;

/** The server is away and will be back; anything else that it says is its answer. */
const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ClientError &&
    typeof error.status === 'number' &&
    [429, 502, 504].includes(error.status));

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (_failures, error) => isPassing(error),
      retryDelay: TRY_AGAIN_MS,
      // Whether this machine is in a network says nothing about a server that may well be on it.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

// What was missed meanwhile.
isConnected.subscribe(() => isConnected.value && void queryClient.invalidateQueries());
admission.subscribe(() => admission.value === 'open' && void queryClient.resetQueries());
admission.subscribe(() => admission.value === 'forgotten' && queryClient.clear());

export const catalogQuery = (catalog?: string) =>
  queryOptions({
    queryKey: ['catalog', catalog ?? null],
    queryFn: ({ signal }) => client.catalog(catalog, { signal }),
    staleTime: 10_000,
  });

export const workersQuery = queryOptions({
  queryKey: ['workers'],
  queryFn: ({ signal }) => client.workers({ signal }),
  refetchInterval: 5_000,
});

/** Of the newest runs, whatever has become of them: a catalog that nobody has registered is known by its runs alone. */
const RUNS_LOOKED_AT = 500;
export const catalogsOfRunsQuery = queryOptions({
  queryKey: ['runs', 'catalogs'],
  queryFn: async ({ signal }) => {
    const { runs } = await client.runsPage({ limit: RUNS_LOOKED_AT, signal });
    return [...new Set(runs.map(({ catalog }) => catalog))].sort();
  },
  staleTime: 10_000,
});

const DESERTED_LOOKED_AT = 20;
const OPEN_RUNS_LOOKED_AT = 100;
/** A page of the list ends early where the server would have to look through many others to fill it. */
const PAGES_LOOKED_AT = 5;

async function openRunsOf(catalog: string, signal: AbortSignal) {
  const filter = { catalog, status: 'running', limit: OPEN_RUNS_LOOKED_AT, signal } as const;
  let page = await client.runsPage(filter);
  for (let pages = 1; page.runs.length === 0 && page.nextCursor !== null && pages < PAGES_LOOKED_AT; pages++)
    page = await client.runsPage({ ...filter, cursor: page.nextCursor });
  return { catalog, runs: page.runs, isAll: page.nextCursor === null };
}

/** The newest open runs of each of the catalogs, however many of others are newer. */
export const openRunsQuery = (catalogs: readonly string[]) =>
  queryOptions({
    queryKey: ['runs', 'open', catalogs],
    queryFn: async ({ signal }) => {
      const open: Awaited<ReturnType<typeof openRunsOf>>[] = [];
      // One after the other: each may have the server look at every run that is open.
      for (const catalog of catalogs.slice(0, DESERTED_LOOKED_AT))
        open.push(await openRunsOf(catalog, signal));
      return open;
    },
    enabled: catalogs.length > 0,
  });

export const statusQuery = (workflowId: string, runId?: string) =>
  queryOptions({
    queryKey: ['run', workflowId, runId ?? null, 'status'],
    queryFn: ({ signal }) => client.handle(workflowId, runId).status({ signal }),
  });

export const inputQuery = (workflowId: string, runId: string) =>
  queryOptions({
    queryKey: ['run', workflowId, runId, 'input'],
    queryFn: ({ signal }) => client.handle(workflowId, runId).input({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** How a closed run ended. */
export const outcomeQuery = (workflowId: string, runId: string) =>
  queryOptions({
    queryKey: ['run', workflowId, runId, 'outcome'],
    queryFn: ({ signal }) => client.handle(workflowId, runId).outcome({ waitMs: 0, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
