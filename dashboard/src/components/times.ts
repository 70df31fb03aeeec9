/** Instants and durations as texts. */
import type { Zone } from '../app/settings.js';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `12 ms`, `3.4 s`, `2 min 5 s`, `3 d 4 h`: two units at most. */
export function duration(ms: number): string {
  if (ms < 1) return '0 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const [name, size] = UNITS[first]!;
  const next = UNITS[first + 1];
  const count = Math.floor(ms / size);
  const rest = next ? Math.floor((ms - count * size) / next[1]) : 0;
  return rest > 0 ? `${count} ${name} ${rest} ${next![0]}` : `${count} ${name}`;
}

/** One unit, as a list has room for: `now`, `40 s`, `2 min`, `in 3 d`. */
export function relative(at: number, now: number): string {
  const ms = now - at;
  const size = Math.abs(ms);
  if (size < 1_000) return 'now';
  const [name, unit] = UNITS.find(([, each]) => size >= each)!;
  const text = `${Math.floor(size / unit)} ${name}`;
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

const EXACT: Intl.DateTimeFormatOptions = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
};
const SHORT: Intl.DateTimeFormatOptions = {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
};

/** One of each kind: making one takes longer than drawing the row that it is for. */
function formats(options: Intl.DateTimeFormatOptions): Record<Zone, Intl.DateTimeFormat> {
  return {
    local: new Intl.DateTimeFormat('en-GB', options),
    utc: new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }),
  };
}

const EXACT_FORMATS = formats(EXACT);
const SHORT_FORMATS = formats(SHORT);
const FAR_FORMATS = formats({ ...SHORT, year: 'numeric' });

/** `18 Nov 2026, 11:30:05.123 UTC`. */
export const exact = (at: number, zone: Zone): string => EXACT_FORMATS[zone].format(at);

/** Beyond it, a day and a month could be those of another year. */
const NEAR_MS = 300 * 86_400_000;

/** `18 Nov, 11:30`; far from now `18 Nov 2031, 11:30`. */
export const short = (at: number, now: number, zone: Zone): string =>
  (Math.abs(at - now) < NEAR_MS ? SHORT_FORMATS : FAR_FORMATS)[zone].format(at);

export const millis = (at: string | number): number => (typeof at === 'number' ? at : Date.parse(at));
