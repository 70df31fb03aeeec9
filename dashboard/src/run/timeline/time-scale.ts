import { duration } from '../../components/times.js';

/**
 * Where instants stand on the axis: 0 at the beginning of a run, 1 at its end. Long stretches in which nothing happens
 * are drawn short, so that a run that worked for a second and then waited for days shows both.
 */
export interface Gap {
  from: number;
  to: number;
}

export interface TimeScale {
  start: number;
  end: number;
  /** Those that are drawn short. */
  gaps: Gap[];
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

/** `instants` are those at which something begins or ends, in any order. */
export function timeScale(
  start: number,
  end: number,
  instants: Iterable<number>,
  shortens: boolean,
): TimeScale {
  const to = Math.max(end, start + 1);
  const total = to - start;
  const gaps = shortens ? longGaps(start, to, instants) : [];
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

function longGaps(start: number, end: number, instants: Iterable<number>): Gap[] {
  const long = (end - start) * LONG;
  const sorted = [start, ...instants, end]
    .filter((each) => each >= start && each <= end)
    .sort((a, b) => a - b);
  const gaps: Gap[] = [];
  for (let i = 1; i < sorted.length; i++) {
    if (sorted[i]! - sorted[i - 1]! > long) gaps.push({ from: sorted[i - 1]!, to: sorted[i]! });
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
