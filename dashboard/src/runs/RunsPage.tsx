/** All runs: what there is, what each waits for, and what to do with several at once. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useStore } from '../app/store.js';
import { Button } from '../components/Button.js';
import { ErrorNote } from '../components/ErrorNote.js';
import { useTitle } from '../components/Page.js';
import { BulkBar } from './BulkBar.js';
import { Counts } from './Counts.js';
import { Filters } from './Filters.js';
import { NoRuns } from './NoRuns.js';
import { comeBack, entryKey, leave, type Place } from './places.js';
import { RunTable } from './RunTable.js';
import { MOST_AT_ONCE, RunList, type Shown } from './run-list.js';
import { filterOf } from './runs-page.js';
import './runs.css';
import type { RunsSearch } from './search.js';
import { useSelection } from './selection.js';

export function RunsPage() {
  useTitle('Runs');
  const search = useSearch({ from: '/runs' });
  const navigate = useNavigate({ from: '/runs' });
  const key = JSON.stringify(search);
  const { list, place } = useRunList(search, key);
  const isReading = useRef(false);
  const shown = useStore(list.shown);
  const catalogs = useMemo(() => [...new Set(shown.runs.map(({ catalog }) => catalog))], [shown.runs]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: list and place are made for the key
  useEffect(() => {
    const entry = entryKey();
    list.start(() => isReading.current);
    return () => {
      list.stop();
      const kept = list.keep();
      if (kept) leave(entry, { key, kept, place });
    };
  }, [list]);

  return (
    <div className="runs">
      <div className="runs-head">
        <h1>Runs</h1>
        {/* They stay while the list below changes: whoever types in one of them goes on typing. */}
        <Filters
          search={search}
          onChange={(next) => void navigate({ search: next, replace: true })}
          catalogs={catalogs}
        />
        <Counts runs={shown.runs} hasMore={shown.hasMore} />
      </div>
      <Listing
        key={key}
        {...{ list, shown, place }}
        isFiltered={Object.values(search).some((value) => value !== undefined)}
        onReading={(reads) => {
          isReading.current = reads;
        }}
      />
    </div>
  );
}

function Listing({
  list,
  shown,
  place,
  isFiltered,
  onReading,
}: {
  list: RunList;
  shown: Shown;
  place: Place;
  isFiltered: boolean;
  onReading(isReading: boolean): void;
}) {
  const { runs, waiting, hasMoreWaiting, hasMore, isLoading, error } = shown;
  const selection = useSelection(runs);
  const body = useRef<HTMLDivElement>(null);
  const isEmpty = runs.length === 0 && !hasMore && !isLoading;
  return (
    <>
      <div className="runs-body" ref={body} tabIndex={-1}>
        <div className="runs-new" aria-live="polite">
          {waiting.length > 0 && (
            <Button
              look="primary"
              icon="up"
              onClick={() => {
                list.takeNew();
                body.current?.querySelector('.runs-scroller')?.scrollTo(0, 0);
              }}
            >
              {hasMoreWaiting ? `More than ${waiting.length}` : waiting.length} new
            </Button>
          )}
        </div>
        {isEmpty ? (
          <NoRuns isFiltered={isFiltered} onTyping={onReading} />
        ) : (
          <RunTable
            runs={runs}
            isLoading={isLoading}
            selection={selection}
            place={place}
            onRange={(first, last) => list.watch(first, last)}
            onReading={(reads) => onReading(reads || selection.size > 0)}
          />
        )}
        {error !== undefined && (
          <div className="runs-error">
            <ErrorNote error={error} onRetry={() => void list.retry()} />
          </div>
        )}
      </div>
      {selection.size > 0 && (
        <BulkBar
          selection={selection}
          onActed={() => {
            void list.refresh();
            // The button that has opened the dialog is gone with it. Around the list, not in it: nobody reads a row now.
            requestAnimationFrame(() => body.current?.focus());
          }}
        >
          {hasMore && selection.size === runs.length && (
            <AllThatFit count={runs.length} onAll={async () => selection.all(await list.loadAll())} />
          )}
        </BulkBar>
      )}
    </>
  );
}

/** All that are loaded are chosen, and there are more. */
function AllThatFit({ count, onAll }: { count: number; onAll(): Promise<void> }) {
  const [isBusy, setIsBusy] = useState(false);
  const all = async () => {
    setIsBusy(true);
    await onAll();
    setIsBusy(false);
  };
  return (
    <>
      <span className="muted">
        These are the newest {count.toLocaleString('en')} that fit; there are more.
      </span>
      {count < MOST_AT_ONCE && (
        <Button look="quiet" busy={isBusy} onClick={() => void all()}>
          Choose all that fit
        </Button>
      )}
    </>
  );
}

/** One list for as long as the view is open. In development React mounts twice, and what was stopped stays so. */
function useRunList(search: RunsSearch, key: string): { list: RunList; place: Place } {
  const [mounts, setMounts] = useState(0);
  useEffect(() => () => setMounts((count) => count + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a stopped list does not start again, and the key is the search
  return useMemo(() => {
    const left = comeBack(entryKey(), key);
    const place = { scrollTop: 0, focused: 0, isLeftByKey: false, ...left?.place };
    return { list: new RunList(() => filterOf(search), left?.kept), place };
  }, [key, mounts]);
}
