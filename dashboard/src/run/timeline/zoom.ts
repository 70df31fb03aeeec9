/** Which part of the axis is in sight, between 0 and 1. */
import { useMemo, useState, type WheelEvent } from 'react';

export interface Zoom {
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
  onWheel(event: WheelEvent<HTMLElement>): void;
}

const STEP = 0.6;
const PAN = 0.4;

/** `closest` is the shortest part that there is something to see in. */
export function useZoom(closest: number): Zoom {
  const [{ from, to }, setPart] = useState({ from: 0, to: 1 });
  return useMemo(() => {
    const length = to - from;
    const set = (start: number, size: number) => {
      const begin = Math.min(1 - size, Math.max(0, start));
      setPart({ from: begin, to: begin + size });
    };
    const around = (center: number, factor: number) => {
      const size = Math.min(1, Math.max(closest, length * factor));
      // By what it really changes: at the closest it would move what is in sight to the side.
      set(center - ((center - from) * size) / length, size);
    };
    return {
      from,
      to,
      isWhole: from === 0 && to === 1,
      at: (position) => (position - from) / length,
      in: () => around(from + length / 2, STEP),
      out: () => around(from + length / 2, 1 / STEP),
      whole: () => setPart({ from: 0, to: 1 }),
      earlier: () => set(from - length * PAN, length),
      later: () => set(from + length * PAN, length),
      onWheel: (event) => {
        const track = event.currentTarget.querySelector('.timeline-track')?.getBoundingClientRect();
        if (!track || track.width === 0) return;
        if (event.ctrlKey || event.metaKey) {
          const under = from + ((event.clientX - track.left) / track.width) * length;
          around(under, event.deltaY < 0 ? STEP : 1 / STEP);
        } else if (event.deltaX !== 0) set(from + (event.deltaX / track.width) * length, length);
      },
    };
  }, [from, to, closest]);
}
