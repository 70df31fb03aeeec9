/**
 * Texts that leave for other programs. JavaScript's texts may hold half of a surrogate pair, which UTF-8 cannot carry:
 * some receivers replace it, others refuse the whole message.
 */

const HALF_A_PAIR = /\p{Surrogate}/u;
const HALVES_OF_PAIRS = /\p{Surrogate}/gu;

export const isWellFormed = (text: string): boolean => !HALF_A_PAIR.test(text);

/** `text` with U+FFFD in place of halves of surrogate pairs. */
export const toWellFormed = (text: string): string => text.replace(HALVES_OF_PAIRS, '\ufffd');

/** At most `length` characters of `text`, never half a pair, and how long it was. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, endOfCharacter(text, length))}… (${text.length} characters)`;
}

function endOfCharacter(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}
