import { useMemo } from 'react';
import { StateBadge } from '../components/StateBadge.js';
import { type RunState, STATE_NAMES, stateOf } from '../components/state.js';
import type { Run } from './runs-page.js';

const ORDER = Object.keys(STATE_NAMES) as RunState[];

/** How many of the runs that are shown are in which state. */
export function Counts({ runs, hasMore }: { runs: readonly Run[]; hasMore: boolean }) {
  const counts = useMemo(() => {
    const found = new Map<RunState, number>();
    for (const run of runs) found.set(stateOf(run), (found.get(stateOf(run)) ?? 0) + 1);
    return ORDER.filter((state) => found.has(state)).map((state) => [state, found.get(state)!] as const);
  }, [runs]);
  return (
    <ul className="counts" aria-label="How many are in which state">
      {counts.map(([state, count]) => (
        <li key={state} title={`${count} ${STATE_NAMES[state].toLowerCase()}`}>
          <StateBadge state={state} isShort />
          <span>{count.toLocaleString('en')}</span>
        </li>
      ))}
      {runs.length > 0 && (
        <li className="muted" title={hasMore ? 'Scroll down for older ones' : undefined}>
          {hasMore
            ? `of the newest ${runs.length.toLocaleString('en')}`
            : `${runs.length.toLocaleString('en')} in all`}
        </li>
      )}
    </ul>
  );
}
