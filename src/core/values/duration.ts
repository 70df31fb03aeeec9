/** Durations as authors write them: milliseconds as a number, or a text such as '30s', '1.5 hours', '3 days'. */

export type Duration = number | string;

export class DurationError extends Error {
  override readonly name = 'DurationError';
  readonly nonRetryable = true;
}

const UNITS: Record<string, number> = {};
for (const [ms, names] of [
  [1, 'ms msec msecs millisecond milliseconds'],
  [1_000, 's sec secs second seconds'],
  [60_000, 'm min mins minute minutes'],
  [3_600_000, 'h hr hrs hour hours'],
  [86_400_000, 'd day days'],
  [604_800_000, 'w week weeks'],
  [31_557_600_000, 'y yr yrs year years'],
] as const) {
  for (const name of names.split(' ')) UNITS[name] = ms;
}

/** Longer waits than any deployment lives are mistakes (such as microseconds passed as milliseconds). */
const MAX_MS = 1_000 * 31_557_600_000;

/** Whether it is a duration as the engine stores them: whole milliseconds that can be added to an instant. */
export const isWholeMs = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_MS;

/** Milliseconds of `duration`, rounded up to whole ones so that nothing ever fires early. `what` names it in the error. */
export function toMs(duration: Duration, what = 'duration'): number {
  const ms = typeof duration === 'number' ? duration : parse(duration);
  if (ms === undefined || !Number.isFinite(ms) || ms < 0 || ms > MAX_MS) {
    const given = written(duration);
    throw new DurationError(
      ms !== undefined && ms > MAX_MS
        ? `${what} ${given} is longer than 1000 years, the longest that is taken for a duration`
        : `${what} ${given} is not a duration: give milliseconds (0 or more) or a text such as "30s", "5 minutes", "3 days"`,
    );
  }
  return Math.ceil(ms);
}

/** As the author gave it, whatever it is: JSON would write NaN and Infinity as null, and refuses a BigInt. */
function written(duration: unknown): string {
  if (typeof duration === 'number') return String(duration);
  if (typeof duration === 'bigint') return `${duration}n`;
  return JSON.stringify(duration);
}

function parse(text: unknown): number | undefined {
  if (typeof text !== 'string' || text.length > 50) return undefined;
  const match = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*(?:([a-z]+)\s*)?$/i.exec(text);
  if (!match) return undefined;
  const unit = match[2] === undefined ? 1 : UNITS[match[2].toLowerCase()];
  return unit === undefined ? undefined : Number(match[1]) * unit;
}
