/** What an option's text may be. What does not fit is refused by the option's parser, with its name. */

import { InvalidArgumentError } from 'commander';
import { withoutTrailingSlashes } from '../core/values/base-url.js';
import { toMs } from '../core/values/duration.js';

export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d{1,9}$/.test(value) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

export function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

export function duration(value: string): number {
  try {
    return toMs(value);
  } catch {
    throw new InvalidArgumentError('It must be a duration such as "10s", "12h" or "30 days".');
  }
}

/** A duration within bounds; `words` says which. */
export function durationOf(min: number, max: number, words: string): (value: string) => number {
  return (value) => {
    const ms = duration(value);
    if (ms >= min && ms <= max) return ms;
    throw new InvalidArgumentError(`It must be ${words}.`);
  };
}

/** What addresses begin with: a path goes, for a proxy that adds one, and nothing behind it. */
export function publicUrl(value: string): string {
  const url = isHttpUrl(value) ? new URL(value) : undefined;
  if (url && url.username + url.password + url.search + url.hash === '')
    return withoutTrailingSlashes(url.href);
  throw new InvalidArgumentError(
    'It must be a URL such as https://perdure.example.com, without a user, query or fragment.',
  );
}

const UNITS: Record<string, number> = {
  '': 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

export function byteSize(value: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,15})\s?([a-z]{0,3})$/i.exec(value.trim()) ?? [];
  const bytes = Number(digits) * (UNITS[unit.toUpperCase()] ?? Number.NaN);
  if (digits !== '' && Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError('It must be a size such as "500 MB" or "1GiB", or 0.');
}

export function notEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('It is empty.');
  return value;
}
