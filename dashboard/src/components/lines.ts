/**
 * A list of which only the rows on the screen are drawn, and its keys: Tab leads to one row and then on to what follows the
 * list, the arrow keys move between rows. With every row on the way of Tab nobody would come past a list of thousands.
 */
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';

interface Options {
  rowPx: number;
  overscan?: number;
  /** By which a row is the same one where it stands at another place; its place when absent. */
  getItemKey?: (index: number) => string;
  /** Where somebody was before. */
  start?: { scrollTop: number; reached: number };
}

export function useLines(count: number, options: Options) {
  const { rowPx, overscan = 12, getItemKey, start } = options;
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState(start?.reached ?? 0);
  const reached = Math.min(chosen, count - 1);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan,
    ...(getItemKey && { getItemKey }),
    ...(start && { initialOffset: start.scrollTop }),
    // The row that has the focus keeps it, wherever the list is scrolled to.
    rangeExtractor: useCallback(
      (range: Range) => {
        const drawn = defaultRangeExtractor(range);
        return reached < 0 || drawn.includes(reached) ? drawn : [...drawn, reached].sort((a, b) => a - b);
      },
      [reached],
    ),
  });

  const isMoved = useRef(false);
  const focusIfDrawn = () => {
    const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${reached}"]`);
    isMoved.current = !row;
    row?.focus({ preventScroll: true });
  };
  // In every drawing until then: a row may be drawn later than it is moved to.
  useEffect(() => {
    if (isMoved.current) focusIfDrawn();
  });

  const moveTo = (index: number) => {
    const to = Math.max(0, Math.min(count - 1, index));
    rows.scrollToIndex(to);
    if (to === reached) return focusIfDrawn();
    isMoved.current = true;
    setChosen(to);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(scroller.current!.clientHeight / rowPx) - 2);
    const steps: Record<string, number> = {
      ...{ ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page },
      ...{ Home: -count, End: count },
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    moveTo(reached + step);
  };

  return {
    scroller,
    rows,
    onKeyDown,
    /** The row that Tab leads to. */
    reached,
    /** Gives the row the focus. */
    moveTo,
    /** To be called when a row is given the focus. */
    onReach: setChosen,
    /** Whether Tab leads to this row. */
    isReached: (index: number) => index === reached,
  };
}
