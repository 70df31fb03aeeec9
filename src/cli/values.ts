/** What an option's text may be. What does not fit is refused by the option's parser, with its name. */
import { InvalidArgumentError } from 'commander';
import { toMs } from '../core/duration.js';

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

export function notEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('It is empty.');
  return value;
}
