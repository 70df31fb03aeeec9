/** Texts of others, so that what is seen is what is there. */

/** Part of what people write: lines, and what joins letters and emoji. */
const KEPT = new Set(['\n', '\t', '\u200c', '\u200d']);

/**
 * Controls, signs that turn text around or cannot be seen, and halves of characters, as JSON writes them: with one of them
 * in it an id could look like another.
 */
export function legible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (sign) =>
    KEPT.has(sign) ? sign : escaped(sign),
  );
}

/** In UTF-16, as JSON has it. */
const escaped = (sign: string): string =>
  Array.from(
    { length: sign.length },
    (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** The beginning and the end: what tells two ids apart is at either. */
export function shorten(id: string, length = 24): string {
  const signs = [...legible(id)];
  if (signs.length <= length) return signs.join('');
  const tail = Math.floor((length - 1) / 2);
  return `${signs.slice(0, length - 1 - tail).join('')}…${signs.slice(-tail).join('')}`;
}
