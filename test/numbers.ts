/** Numbers on the command lines of campaigns. One that is misread would let a campaign of nothing pass as a success. */

/** @throws unless it is a number above zero */
export function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) {
    throw new Error(`${name} ${text}: a number above 0 is needed, without separators`);
  }
  return value;
}

/** @throws unless it is a whole number, zero at least */
export function count(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0) {
    throw new Error(`${name} ${text}: a whole number is needed, without separators`);
  }
  return value;
}

/** @throws unless it is a whole number, one at least */
export function countAboveZero(name: string, text: string): number {
  return positive(name, String(count(name, text)));
}
