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
/** Closer than this a millisecond would be wider than the screen, in any run. */
const CLOSEST = 1e-9;

export function useZoom(): Zoom {
  const [{ from, to }, setPart] = useState({ from: 0, to: 1 });
  return useMemo(() => {
    const length = to - from;
    const set = (start: number, size: number) => {
      const bounded = Math.min(1, Math.max(CLOSEST, size));
      const begin = Math.min(1 - bounded, Math.max(0, start));
      setPart({ from: begin, to: begin + bounded });
    };
    const around = (center: number, factor: number) =>
      set(center - (center - from) * factor, length * factor);
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
  }, [from, to]);
}
