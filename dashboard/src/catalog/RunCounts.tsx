/** How many runs of a workflow there are in each state, counted as far as it is cheap. */
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { client } from '../app/api.js';
import { StateBadge } from '../components/StateBadge.js';

const STATES = ['running', 'completed', 'failed', 'cancelled', 'terminated', 'timed_out'] as const;

/** The API counts what it lists; beyond this it is "more than". */
const COUNTED = 200;

export function RunCounts({ workflow, catalog }: { workflow: string; catalog: string | undefined }) {
  const counts = useQueries({
    queries: STATES.map((status) => ({
      queryKey: ['runs', 'count', workflow, catalog ?? null, status],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.runsPage({ workflowType: workflow, catalog, status, limit: COUNTED, signal }),
      refetchInterval: 10_000,
    })),
  });
  return (
    <ul className="workflow-counts" aria-label={`Runs of ${workflow}`}>
      {STATES.map((state, index) => {
        const page = counts[index]!.data;
        return (
          <li key={state}>
            <Link to="/runs" search={{ workflow, catalog, state }}>
              <span className={page?.count === 0 ? 'workflow-count muted' : 'workflow-count'}>
                {page ? `${page.count}${page.nextCursor === null ? '' : '+'}` : '…'}
              </span>
              <StateBadge state={state} />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
