/**
 * Which part of the axis is in sight. It is kept as instants: the axis of a run that goes on grows, and what somebody looks at
 * stays where it is.
 */
import { useMemo, useState } from 'react';
import type { TimeScale } from './time-scale.js';

export interface Zoom {
  /** Between 0 and 1. */
  from: number;
  to: number;
  isWhole: boolean;
  /** Where a position of the axis stands in what is in sight. */
  at(position: number): number;
  in(): void;
  out(): void;
  whole(): void;
  earlier(): void;
  later(): void;
  /** On an element with a track in it. */
  onWheel(event: WheelEvent): void;
}

const STEP = 0.6;
const PAN = 0.4;

export function useZoom(scale: TimeScale): Zoom {
  const [part, setPart] = useState<{ from: number; to: number }>();
  return useMemo(() => {
    const from = part ? scale.at(part.from) : 0;
    const to = part ? scale.at(part.to) : 1;
    const length = Math.max(to - from, Number.EPSILON);
    const set = (start: number, size: number) => {
      if (size >= 1) return setPart(undefined);
      const begin = Math.min(1 - size, Math.max(0, start));
      setPart({ from: scale.instant(begin), to: scale.instant(begin + size) });
    };
    const around = (center: number, factor: number) => {
      const size = Math.min(1, Math.max(scale.closest, length * factor));
      // By what it really changes: at the closest it would move what is in sight to the side.
      set(center - ((center - from) * size) / length, size);
    };
    return {
      from,
      to,
      isWhole: part === undefined,
      at: (position) => (position - from) / length,
      in: () => around(from + length / 2, STEP),
      out: () => around(from + length / 2, 1 / STEP),
      whole: () => setPart(undefined),
      earlier: () => set(from - length * PAN, length),
      later: () => set(from + length * PAN, length),
      onWheel: (event) => {
        const rows = event.currentTarget as HTMLElement;
        const track = rows.querySelector('.timeline-track')?.getBoundingClientRect();
        if (!track || track.width === 0) return;
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          const under = from + ((event.clientX - track.left) / track.width) * length;
          around(under, event.deltaY < 0 ? STEP : 1 / STEP);
        } else if (part && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          // To the side the browser would go back to the page before.
          event.preventDefault();
          set(from + (event.deltaX / track.width) * length, length);
        }
      },
    };
  }, [part, scale]);
}
