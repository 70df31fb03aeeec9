/** Whether the database has all commits that its mark remembers, and what to tell when it has not. */
import type { Tip } from './commit-chain.js';
import type { MarkedCommit } from './mark.js';

export interface LostCommits {
  /** The last commit that the database has. */
  tip: Tip;
  /** The last one that there was. */
  mark: Tip;
  /** How many are missing; 0 when there are as many, but others. */
  count: number;
  /** Runs that the missing commits saved, as far as the mark remembers. */
  runIds: string[];
  /** Whether the mark no longer knows all of those runs. */
  hasMoreRuns: boolean;
}

/** A mark that is behind is no loss: it is not synced with every commit. */
export function lostCommits(tip: Tip, marked: readonly MarkedCommit[]): LostCommits | undefined {
  const mark = marked.at(-1);
  if (!mark || mark.seq < tip.seq || (mark.seq === tip.seq && mark.hash === tip.hash)) return undefined;
  const missing = marked.filter(({ seq }) => seq > tip.seq);
  const known = missing.length === mark.seq - tip.seq;
  return {
    tip,
    mark,
    count: mark.seq - tip.seq,
    runIds: [...new Set(missing.flatMap(({ runIds }) => runIds))],
    hasMoreRuns: !known || missing.some(({ runCount, runIds }) => runCount > runIds.length),
  };
}

/** Runs named in the message; `perdure check --json` has all that are known. */
const NAMED_RUNS = 20;

export function describeLoss(dataDir: string, loss: LostCommits): string {
  const { tip, mark, count, runIds, hasMoreRuns } = loss;
  const what =
    count > 0
      ? `the database in ${dataDir} has lost its last ${count} commits: it ends with commit ${tip.seq}${when(tip)}, and commit ${mark.seq} was made${when(mark)}`
      : `the database in ${dataDir} is another one than its mark was made for: both end with commit ${tip.seq}, but not the same`;
  const named = runIds.slice(0, NAMED_RUNS).join(', ');
  const more = hasMoreRuns || runIds.length > NAMED_RUNS ? ' and more' : '';
  const runs = runIds.length === 0 ? '' : ` Runs that are missing or went further: ${named}${more}.`;
  return (
    `${what}.${runs} Its write-ahead log (perdure.db-wal) was removed or damaged, or perdure.db is an older copy. ` +
    `Nothing was changed. Restore both files as they were, or a backup; or accept the loss with "perdure check --data ${dataDir} --accept-loss"`
  );
}

function when({ at }: Tip): string {
  return at > 0 ? ` at ${new Date(at).toISOString()}` : '';
}
