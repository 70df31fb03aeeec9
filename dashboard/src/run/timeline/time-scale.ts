import { duration } from '../../components/times.js';

/**
 * Where instants stand on the axis: 0 at the beginning of a run, 1 at its end. Long stretches in which nothing happens and
 * nothing works are drawn short, so that a run that worked for a second and then waited for days shows both.
 */
export interface Stretch {
  from: number;
  to: number;
}

export interface Happened {
  /** When something begins or ends, in any order. */
  instants: Iterable<number>;
  /** When a step runs. */
  work: readonly Stretch[];
}

export interface TimeScale {
  start: number;
  end: number;
  /** Those that are drawn short. */
  gaps: Stretch[];
  at(instant: number): number;
  /** A millisecond: nothing is known of what happens within one. */
  closest: number;
  /** The other way round. */
  instant(position: number): number;
}

/** What share of the whole a stretch must have to be drawn short. */
const LONG = 0.2;
/** How much of the rest it is drawn as. */
const DRAWN_AS = 0.4;

export function timeScale(start: number, end: number, happened: Happened, shortens: boolean): TimeScale {
  const to = Math.max(end, start + 1);
  const total = to - start;
  const gaps = shortens ? longWaits(start, to, happened) : [];
  const inGaps = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const rest = Math.max(total - inGaps, 1);
  const drawn = rest * DRAWN_AS;
  const length = rest + drawn * gaps.length;

  const at = (instant: number): number => {
    const bounded = Math.min(to, Math.max(start, instant));
    let taken = bounded - start;
    for (const gap of gaps) {
      if (bounded <= gap.from) break;
      const inside = Math.min(bounded, gap.to) - gap.from;
      taken += (inside / (gap.to - gap.from)) * drawn - inside;
    }
    return taken / length;
  };
  const instant = (position: number): number => {
    let left = position * length;
    let from = start;
    for (const gap of gaps) {
      if (left <= gap.from - from) break;
      left -= gap.from - from;
      if (left < drawn) return gap.from + (left / drawn) * (gap.to - gap.from);
      left -= drawn;
      from = gap.to;
    }
    return from + left;
  };
  return { start, end: to, gaps, closest: Math.min(1, 1 / length), at, instant };
}

function longWaits(start: number, end: number, { instants, work }: Happened): Stretch[] {
  const long = (end - start) * LONG;
  const sorted = [start, ...instants, end]
    .filter((each) => each >= start && each <= end)
    .sort((a, b) => a - b);
  const gaps: Stretch[] = [];
  for (let i = 1; i < sorted.length; i++) {
    const [from, to] = [sorted[i - 1]!, sorted[i]!];
    if (to - from <= long) continue;
    if (!work.some((each) => each.from < to && each.to > from)) gaps.push({ from, to });
  }
  const inGaps = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  // When nearly all is waiting there is something to see beside it; a run that is busy throughout is drawn as it was.
  return inGaps > (end - start) / 2 ? gaps : [];
}

/**
 * What stands at these times since the start, so that no two say the same: close to each other, those after the first say
 * how much later they are, since the large units of all of them are equal.
 */
export function tickTexts(times: readonly number[]): string[] {
  const texts = times.map(fine);
  if (new Set(texts).size === times.length) return texts;
  const [first = 0] = times;
  return times.map((time, index) => (index === 0 ? texts[0]! : `+ ${fine(time - first)}`));
}

/** As `duration`, which knows no less than a millisecond. */
function fine(ms: number): string {
  return ms >= 10 ? duration(ms) : `${Number(ms.toFixed(1))} ms`;
}
