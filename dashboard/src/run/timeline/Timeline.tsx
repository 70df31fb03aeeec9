/**
 * What happened, on a time axis: a bar for each step, timer and child, marks for messages. It follows a run that goes on
 * until somebody zooms in.
 */
import type { StatusRecord } from 'perdure/client';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { Button, IconButton } from '../../components/Button.js';
import { Empty } from '../../components/Empty.js';
import { useLines } from '../../components/lines.js';
import { useNow } from '../../components/now.js';
import { useIsNarrow } from '../../runs/narrow.js';
import type { Shown } from '../history.js';
import { type Item, isMark } from '../items.js';
import { useStepsUnderWay } from '../queries.js';
import { asOfNow } from '../under-way.js';
import { Marks } from './Marks.js';
import { TimelineRow } from './TimelineRow.js';
import { type TimeScale, tickTexts, timeScale } from './time-scale.js';
import { useZoom, type Zoom } from './zoom.js';

const ROW_PX = 30;
const TICKS = [0, 0.2, 0.4, 0.6, 0.8];
const NARROW_TICKS = [0, 0.35, 0.7];

interface Props {
  run: StatusRecord;
  history: Shown;
  open: string | undefined;
  onOpen(id: string): void;
}

export function Timeline({ run, history, open, onOpen }: Props) {
  const { model, version, expected } = history;
  const [shortens, setShortens] = useState(true);
  const underWay = useStepsUnderWay(run);
  const scale = useScale(run, history, underWay, shortens);
  const zoom = useZoom(scale);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, and its version says so
  const [bars, marks] = useMemo(() => {
    const isBar = (item: Item) => !isMark(item);
    return [model.items.filter(isBar), model.items.filter(isMark)];
  }, [model, version]);
  const { scroller, rows, onKeyDown, onReach, isReached } = useLines(bars.length, { rowPx: ROW_PX });
  useWheel(scroller, zoom);
  // Beside a detail there is not much room either.
  const isNarrow = useIsNarrow() || open !== undefined;
  useFollow(scroller, run.status === 'running' && zoom.isWhole, bars.length);

  if (version > 0 && version >= expected && bars.length === 0 && marks.length === 0) {
    return (
      <Empty
        title={run.status === 'running' ? 'Nothing has happened yet' : 'The run did nothing but compute'}
      >
        <p>Steps, timers, children and messages show up here. The events have every turn of the code.</p>
      </Empty>
    );
  }
  return (
    <section className="timeline" aria-label="Timeline">
      <div className="timeline-tools">
        <span className="muted">{rowsInWords(bars.length, history)}</span>
        {(scale.gaps.length > 0 || !shortens) && (
          <label className="timeline-option">
            <input type="checkbox" checked={shortens} onChange={() => setShortens(!shortens)} /> Waits drawn
            short
          </label>
        )}
        <span className="timeline-zoom">
          <IconButton
            label="Earlier"
            icon="right"
            className="is-turned"
            disabled={zoom.isWhole}
            onClick={zoom.earlier}
          />
          <IconButton label="Later" icon="right" disabled={zoom.isWhole} onClick={zoom.later} />
          <Button onClick={zoom.out} disabled={zoom.isWhole} aria-label="Zoom out">
            −
          </Button>
          <Button onClick={zoom.in} aria-label="Zoom in">
            +
          </Button>
          <Button onClick={zoom.whole} disabled={zoom.isWhole}>
            All
          </Button>
        </span>
      </div>
      <Axis {...{ scale, zoom, isNarrow }} />
      {marks.length > 0 && <Marks {...{ marks, scale, zoom, isNarrow, open, onOpen }} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the rows inside */}
      <div className="timeline-rows" ref={scroller} onKeyDown={onKeyDown}>
        <ul style={{ height: rows.getTotalSize() }} aria-label="Steps, timers and children">
          {rows.getVirtualItems().map(({ index, start }) => {
            const item = asOfNow(bars[index]!, underWay);
            return (
              <TimelineRow
                key={item.id}
                item={item}
                index={index}
                top={start}
                height={ROW_PX}
                scale={scale}
                zoom={zoom}
                isNarrow={isNarrow}
                isOpen={open === item.id}
                onOpen={onOpen}
                isReached={isReached(index)}
                onReach={onReach}
                version={item.to === null ? scale.end : 0}
              />
            );
          })}
        </ul>
      </div>
    </section>
  );
}

function rowsInWords(count: number, { version, expected }: Shown): string {
  const loaded =
    version < expected
      ? `, ${version.toLocaleString('en')} of ${expected.toLocaleString('en')} events read`
      : '';
  return `${count.toLocaleString('en')} ${count === 1 ? 'row' : 'rows'}${loaded}`;
}

function useScale(
  run: StatusRecord,
  { model, version }: Shown,
  underWay: ReturnType<typeof useStepsUnderWay>,
  shortens: boolean,
): TimeScale {
  const now = useNow();
  const start = model.startedAt ?? run.startedAt;
  const end = model.closedAt ?? run.completedAt ?? now;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model grows in place, and its version says so
  return useMemo(() => {
    const items = model.items.map((item) => asOfNow(item, underWay));
    const instants = items.flatMap(({ from, startedAt, to }) => [from, startedAt ?? from, to ?? from]);
    const work = items.flatMap(({ kind, startedAt, to }) =>
      kind === 'step' && startedAt !== null ? { from: startedAt, to: to ?? end } : [],
    );
    return timeScale(start, end, { instants, work }, shortens);
  }, [start, end, model, version, underWay, shortens]);
}

/** What is new comes into sight at the bottom, as long as that is where the reader is. */
function useFollow(scroller: RefObject<HTMLDivElement | null>, isLive: boolean, count: number): void {
  const before = useRef(count);
  useEffect(() => {
    const element = scroller.current;
    if (!element || count === before.current) return;
    const grown = (count - before.current) * ROW_PX;
    before.current = count;
    const wasAtEnd = element.scrollHeight - element.clientHeight - element.scrollTop < grown + ROW_PX;
    if (isLive && wasAtEnd) element.scrollTop = element.scrollHeight;
  }, [scroller, isLive, count]);
}

/** Not as one of React's listeners: those cannot keep the browser from zooming the whole page as well. */
function useWheel(scroller: RefObject<HTMLDivElement | null>, { onWheel }: Zoom): void {
  // At every time, since the rows may come later than the view.
  useEffect(() => {
    const element = scroller.current;
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  });
}

function Axis({ scale, zoom, isNarrow }: { scale: TimeScale; zoom: Zoom; isNarrow: boolean }) {
  const ticks = isNarrow ? NARROW_TICKS : TICKS;
  const texts = tickTexts(
    ticks.map((tick) => scale.instant(zoom.from + tick * (zoom.to - zoom.from)) - scale.start),
  );
  return (
    <div className="timeline-axis" aria-hidden="true">
      <div className="timeline-label muted">since its start</div>
      <div className="timeline-track">
        {ticks.map((tick, index) => (
          <span key={tick} className="tick" style={{ left: `${tick * 100}%` }}>
            {texts[index]}
          </span>
        ))}
        {scale.gaps.map((gap) => {
          // Of what is in sight of it, the middle.
          const from = Math.max(0, zoom.at(scale.at(gap.from)));
          const to = Math.min(1, zoom.at(scale.at(gap.to)));
          if (from >= to) return null;
          return (
            <span key={gap.from} className="gap-sign" style={{ left: `${((from + to) / 2) * 100}%` }}>
              ···
            </span>
          );
        })}
      </div>
    </div>
  );
}
