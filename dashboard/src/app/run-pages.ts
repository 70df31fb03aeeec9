/** Runs, page by page: the first one at once, each other one when somebody asks for it. */
import { useInfiniteQuery } from '@tanstack/react-query';
import type { RunListEntry } from 'perdure/client';
import { useMemo } from 'react';
import { client } from './api.js';

type Filter = Omit<NonNullable<Parameters<typeof client.runsPage>[0]>, 'limit' | 'cursor' | 'signal'>;

export interface RunPages {
  /** Undefined until the first page is there. */
  runs: RunListEntry[] | undefined;
  hasMore: boolean;
  isLoadingMore: boolean;
  error: unknown;
  loadMore(): void;
  retry(): void;
}

export function useRunPages(
  filter: Filter,
  { limit, again, isEnabled = true }: { limit: number; again?: number; isEnabled?: boolean },
): RunPages {
  const query = useInfiniteQuery({
    queryKey: ['runs', 'pages', filter, limit],
    enabled: isEnabled,
    queryFn: ({ pageParam, signal }) => client.runsPage({ ...filter, limit, cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: again,
    placeholderData: (before) => before,
  });
  const { data } = query;
  // A run that has come between two calls would stand on both pages.
  const runs = useMemo(
    () =>
      data && [...new Map(data.pages.flatMap((page) => page.runs).map((run) => [run.runId, run])).values()],
    [data],
  );
  return {
    runs,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    error: query.error,
    loadMore: () => void query.fetchNextPage(),
    retry: () => void query.refetch(),
  };
}
