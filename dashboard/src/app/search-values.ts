/** Reading what stands after the question mark of an address: whatever does not fit is as if it were not there. */
export type RawSearch = Record<string, unknown>;

/** A text that is not empty. The router reads what looks like a number as one. */
export function text(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function oneOf<T extends string>(choices: readonly T[], value: unknown): T | undefined {
  return choices.find((choice) => choice === value);
}
