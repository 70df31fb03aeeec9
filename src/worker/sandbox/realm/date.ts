/**
 * `Date` as workflows see it: the time is that of the run, and the place is UTC wherever the worker stands, so that a
 * run decides the same after a move to another machine.
 */

const LOCAL_FIELDS = [
  'FullYear',
  'Month',
  'Date',
  'Day',
  'Hours',
  'Minutes',
  'Seconds',
  'Milliseconds',
] as const;
const hidden = { writable: true, configurable: true, enumerable: false };

export function deterministicDate(now: () => number): DateConstructor {
  const RealDate = Date;
  const parse = (text: string): number => parseInUtc(RealDate, text);
  function WorkflowDate(this: unknown, ...args: unknown[]): unknown {
    if (!new.target) return new RealDate(now()).toString();
    return Reflect.construct(RealDate, [timeOf(args)], new.target);
  }
  const timeOf = (args: unknown[]): number => {
    if (args.length === 0) return now();
    if (args.length > 1) return RealDate.UTC(...(args as [number, number]));
    const value = primitiveOf(args[0]);
    return typeof value === 'string' ? parse(value) : Number(value);
  };
  Object.defineProperties(WorkflowDate, {
    name: { value: 'Date' },
    length: { value: 7 },
    prototype: { value: RealDate.prototype, writable: false },
    now: { value: named('now', now), ...hidden },
    parse: { value: named('parse', (text: unknown) => parse(String(text))), ...hidden },
    UTC: { value: RealDate.UTC, ...hidden },
  });
  liveInUtc(RealDate.prototype);
  Object.defineProperty(RealDate.prototype, 'constructor', { value: WorkflowDate, ...hidden });
  return WorkflowDate as unknown as DateConstructor;
}

type Methods = Record<string, (this: Date, ...args: unknown[]) => unknown>;

function liveInUtc(prototype: Date): void {
  const methods = prototype as unknown as Methods;
  const replace = (name: string, method: Methods[string]) =>
    Object.defineProperty(prototype, name, { value: named(name, method), ...hidden });
  for (const field of LOCAL_FIELDS) {
    replace(`get${field}`, methods[`getUTC${field}`]!);
    if (field !== 'Day') replace(`set${field}`, methods[`setUTC${field}`]!);
  }
  const { toISOString } = methods;
  const shown = (show: (date: Date) => string) =>
    function text(this: Date): string {
      return Number.isNaN(this.getTime()) ? 'Invalid Date' : show(this);
    };
  replace('getTimezoneOffset', function getTimezoneOffset() {
    return Number.isNaN(this.getTime()) ? Number.NaN : 0;
  });
  replace('getYear', function getYear() {
    return this.getUTCFullYear() - 1900;
  });
  replace('setYear', function setYear(year) {
    const number = Math.trunc(Number(year));
    return this.setUTCFullYear(number >= 0 && number <= 99 ? 1900 + number : number);
  });
  replace('toDateString', shown(dateText));
  replace(
    'toTimeString',
    shown((date) => timeText(toISOString!.call(date) as string)),
  );
  replace(
    'toString',
    shown((date) => `${dateText(date)} ${timeText(toISOString!.call(date) as string)}`),
  );
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function dateText(date: Date): string {
  const year = date.getUTCFullYear();
  const years = `${year < 0 ? '-' : ''}${String(Math.abs(year)).padStart(4, '0')}`;
  const day = String(date.getUTCDate()).padStart(2, '0');
  return `${DAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${day} ${years}`;
}

const timeText = (iso: string): string => `${iso.slice(-13, -5)} GMT+0000 (Coordinated Universal Time)`;

/** The form of JavaScript itself with a time and without a zone, which means local time. */
const LOCAL_ISO = /^(?:\d{4}|[+-]\d{6})(?:-\d\d){0,2}T\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?$/;
const ISO_DATE = /^(?:\d{4}|[+-]\d{6})(?:-\d\d){0,2}$/;
/** A zone in a looser form: a name of one, or an offset behind the time. */
const ZONE_NAME = /(?:^|[^a-z])(?:z|ut|utc|gmt|[ecmp][sd]t)(?![a-z])/i;
const OFFSET = /:\d\d(?:[.,]\d{1,9})?\s{0,9}(?:[ap]m)?\s{0,9}[+-]\d/i;
/** Longer than any date is written. */
const MAX_DATE_LENGTH = 200;

function parseInUtc(RealDate: DateConstructor, text: string): number {
  if (text.length > MAX_DATE_LENGTH) return Number.NaN;
  const trimmed = text.trim();
  if (LOCAL_ISO.test(trimmed)) return RealDate.parse(`${trimmed}Z`);
  if (ISO_DATE.test(trimmed) || ZONE_NAME.test(trimmed) || OFFSET.test(trimmed))
    return RealDate.parse(trimmed);
  return RealDate.parse(`${trimmed} UTC`);
}

function primitiveOf(value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
  const time = timeOfDate(value);
  if (time !== undefined) return time;
  const object = value as { [Symbol.toPrimitive]?(hint: string): unknown };
  const own = object[Symbol.toPrimitive];
  if (own !== undefined && own !== null) return own.call(object, 'default');
  const plain: unknown = object.valueOf();
  return typeof plain === 'object' || typeof plain === 'function' ? String(object) : plain;
}

/** Undefined when it is none. A date may come from another realm, where `instanceof` does not know it. */
function timeOfDate(value: object): number | undefined {
  try {
    return Date.prototype.getTime.call(value);
  } catch {
    return undefined;
  }
}

function named<F extends (...args: never[]) => unknown>(name: string, fn: F): F {
  // A method, so that `new` does not work on it either.
  const method = { [name](this: unknown, ...args: never[]) { return fn.apply(this, args); } }[name] as unknown as F; // biome-ignore format: one line
  return Object.defineProperty(method, 'length', { value: fn.length, configurable: true });
}
