/**
 * A list of which only the rows on the screen are drawn, and its keys: Tab leads to one row and then on to what follows the
 * list, the arrow keys move between rows. With every row on the way of Tab nobody would come past a list of thousands.
 */
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';

export function useLines(count: number, { rowPx, overscan = 12 }: { rowPx: number; overscan?: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState(0);
  const reached = Math.min(chosen, count - 1);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan,
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
  useEffect(() => {
    if (!isMoved.current) return;
    isMoved.current = false;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${reached}"]`);
    row?.focus({ preventScroll: true });
  }, [reached]);

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
    const to = Math.max(0, Math.min(count - 1, reached + step));
    rows.scrollToIndex(to);
    isMoved.current = to !== reached;
    setChosen(to);
  };

  return {
    scroller,
    rows,
    onKeyDown,
    /** To be called when a row is given the focus. */
    onReach: setChosen,
    /** Whether Tab leads to this row. */
    isReached: (index: number) => index === reached,
  };
}
