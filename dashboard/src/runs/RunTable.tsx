/**
 * The rows: only those on the screen are drawn. Arrow keys (or j and k) move between them, Enter opens one, Space (or x)
 * chooses it.
 */
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useCallback, useEffect, useRef } from 'react';
import { Loading } from '../components/Loading.js';
import { useLines } from '../components/lines.js';
import { useIsNarrow } from './narrow.js';
import type { Place } from './places.js';
import { RunRow } from './RunRow.js';
import type { Run } from './runs-page.js';
import type { Selection } from './selection.js';

const ROW_PX = 36;
const NARROW_ROW_PX = 60;

export function RunTable({
  runs,
  isLoading,
  selection,
  place,
  onRange,
  onReading,
}: {
  runs: readonly Run[];
  isLoading: boolean;
  selection: Selection;
  place: Place;
  onRange(first: number, last: number): void;
  onReading(isReading: boolean): void;
}) {
  const navigate = useNavigate();
  const isNarrow = useIsNarrow();
  const size = isNarrow ? NARROW_ROW_PX : ROW_PX;
  // The same function for the same rows: with another one all of them are measured again, at every frame.
  const getItemKey = useCallback((index: number) => runs[index]!.runId, [runs]);
  const lines = useLines(runs.length, {
    rowPx: size,
    overscan: 10,
    getItemKey,
    start: { scrollTop: place.scrollTop, reached: place.focused },
  });
  const { scroller, rows, reached } = lines;
  const items = rows.getVirtualItems();
  // What is on the screen: the row that has the focus is drawn wherever it is.
  const { startIndex: first, endIndex: last } = rows.range ?? { startIndex: 0, endIndex: 0 };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn is what counts
  useEffect(() => rows.measure(), [size]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is told again when more rows are there
  useEffect(() => onRange(first, last), [first, last, runs.length, isLoading]);

  const isOver = useRef(false);
  const tell = useCallback(() => {
    const element = scroller.current;
    onReading(
      element !== null &&
        (element.scrollTop > 0 || isOver.current || element.contains(document.activeElement)),
    );
  }, [onReading, scroller]);
  useEffect(tell);
  useEffect(() => {
    if (reached >= 0) place.focused = reached;
  }, [place, reached]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: only when somebody comes back
  useEffect(() => {
    if (!place.isLeftByKey) return;
    place.isLeftByKey = false;
    lines.moveTo(place.focused);
  }, []);

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    lines.onKeyDown(event);
    const isOnRow = (event.target as HTMLElement).getAttribute('role') === 'row';
    const run = runs[reached];
    if (isOnRow && event.key === 'Enter' && run) {
      const { workflowId, runId } = run;
      place.isLeftByKey = true;
      void navigate({ to: '/runs/$workflowId/$runId', params: { workflowId, runId } });
    } else if (isOnRow && (event.key === ' ' || event.key === 'x') && run) {
      event.preventDefault();
      selection.toggle(run.runId, event.shiftKey);
    } else if (event.key === 'Escape' && selection.size > 0) {
      selection.clear();
    }
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only watches whether somebody reads
    <div
      className="runs-scroller"
      ref={scroller}
      onScroll={(event) => {
        place.scrollTop = event.currentTarget.scrollTop;
        tell();
      }}
      onPointerEnter={() => {
        isOver.current = true;
        tell();
      }}
      onPointerLeave={() => {
        isOver.current = false;
        tell();
      }}
      onFocus={tell}
      onBlur={() => requestAnimationFrame(tell)}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a table's rows cannot be placed one by one */}
      <div
        role="grid"
        aria-label="Runs"
        aria-rowcount={runs.length + 1}
        aria-multiselectable="true"
        className="runs-grid"
        onKeyDown={onKeyDown}
      >
        <Head runs={runs} selection={selection} />
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        <div role="rowgroup" className="runs-rows" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <RunRow
              key={key}
              run={runs[index]!}
              index={index}
              top={start}
              height={size}
              isFocusable={lines.isReached(index)}
              isSelected={selection.has(runs[index]!.runId)}
              onToggle={selection.toggle}
              onFocus={lines.onReach}
            />
          ))}
        </div>
      </div>
      {isLoading && <Loading what="runs" />}
    </div>
  );
}

function Head({ runs, selection }: { runs: readonly Run[]; selection: Selection }) {
  const isAll = runs.length > 0 && selection.size === runs.length;
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above; only rows with runs are moved to
    <div role="row" aria-rowindex={1} className="run-row run-head">
      {/* biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above */}
      <div role="columnheader" className="run-check">
        <input
          type="checkbox"
          aria-label={`Choose all ${runs.length} that are loaded`}
          checked={isAll}
          ref={(element) => {
            if (element) element.indeterminate = selection.size > 0 && !isAll;
          }}
          onChange={() => (isAll ? selection.clear() : selection.all())}
        />
      </div>
      {[
        ['run-state', 'State'],
        ['run-workflow', 'Workflow'],
        ['run-id', 'Id'],
        ['run-why', 'Why'],
        ['run-took', 'Took'],
        ['run-started', 'Started'],
      ].map(([name, text]) => (
        // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above
        <div key={name} role="columnheader" className={name}>
          {text}
        </div>
      ))}
    </div>
  );
}
