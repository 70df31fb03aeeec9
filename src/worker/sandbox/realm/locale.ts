/**
 * What depends on a locale or a time zone and was not told which takes en-US and UTC, whatever the worker's own are: a
 * run decides the same after a move to another machine.
 */

const LOCALE = 'en-US';
const TIME_ZONE = 'UTC';
const hidden = { writable: true, configurable: true, enumerable: false };

type Locales = string | string[] | undefined;
type Method = (this: unknown, ...args: never[]) => unknown;

export function fixLocale(now: () => number): void {
  for (const name of Object.getOwnPropertyNames(Intl)) {
    const Real = (Intl as unknown as Record<string, unknown>)[name];
    // A locale is always given to it.
    if (typeof Real !== 'function' || name === 'Locale' || !Real.prototype) continue;
    define(Intl, name, withDefaults(Real as IntlConstructor, name === 'DateTimeFormat'));
  }
  fixCurrentTime(now);
  for (const prototype of [Number.prototype, BigInt.prototype]) {
    fixArguments(prototype, 'toLocaleString', (locales, ...rest) => [orDefault(locales), ...rest]);
  }
  fixArguments(String.prototype, 'localeCompare', (that, locales, ...rest) => [
    that,
    orDefault(locales as Locales),
    ...rest,
  ]);
  for (const name of ['toLocaleUpperCase', 'toLocaleLowerCase']) {
    fixArguments(String.prototype, name, (locales) => [orDefault(locales)]);
  }
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) {
    fixArguments(Date.prototype, name, (locales, options) => [orDefault(locales), inTimeZone(options)]);
  }
}

interface IntlConstructor {
  new (locales?: Locales, options?: object): object;
  prototype: object;
  supportedLocalesOf?: unknown;
}

function withDefaults(Real: IntlConstructor, hasTimeZone: boolean): object {
  function Fixed(this: unknown, locales?: Locales, options?: object): object {
    const args = [orDefault(locales), hasTimeZone ? inTimeZone(options) : options];
    return Reflect.construct(Real, args, new.target ?? Real) as object;
  }
  const statics = Object.getOwnPropertyDescriptors(Real) as PropertyDescriptorMap;
  Object.defineProperties(Fixed, { ...statics, prototype: { value: Real.prototype, writable: false } });
  define(Real.prototype, 'constructor', Fixed);
  return Fixed;
}

/** Behind the locales that are asked for, so that one which is not known leads to the same as well. */
function orDefault(locales: Locales): Locales {
  if (locales === undefined) return LOCALE;
  return Array.isArray(locales) ? [...locales, LOCALE] : [locales, LOCALE];
}

function inTimeZone(options: unknown): object {
  if (options === undefined) return { timeZone: TIME_ZONE };
  const given = options as { timeZone?: unknown };
  if (given === null || given.timeZone !== undefined) return given;
  return Object.create(Object(given) as object, {
    timeZone: { value: TIME_ZONE, enumerable: true },
  }) as object;
}

/** Without a date the current one is formatted, which is that of the run. */
function fixCurrentTime(now: () => number): void {
  const { prototype } = Intl.DateTimeFormat;
  fixArguments(prototype, 'formatToParts', (date) => [date === undefined ? now() : date]);
  const get = Object.getOwnPropertyDescriptor(prototype, 'format')!.get!;
  const bound = new WeakMap<object, unknown>();
  Object.defineProperty(prototype, 'format', {
    configurable: true,
    get(this: object) {
      const real = get.call(this) as (date: unknown) => string;
      if (!bound.has(this)) bound.set(this, (date: unknown) => real(date === undefined ? now() : date));
      return bound.get(this);
    },
  });
}

function fixArguments(prototype: object, name: string, fixed: (...args: never[]) => unknown[]): void {
  const real = (prototype as Record<string, Method>)[name]!;
  const method = {
    [name](this: unknown, ...args: never[]): unknown {
      return real.apply(this, fixed(...args) as never[]);
    },
  }[name];
  define(
    prototype,
    name,
    Object.defineProperty(method!, 'length', { value: real.length, configurable: true }),
  );
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, ...hidden });
}
