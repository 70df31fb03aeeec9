/** Texts of other people, such as ids and messages of errors, where a terminal would obey what is in them. */

/** What moves a cursor, forges a line, begins an escape code or turns the direction of a text. */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** On one line, with whatever is not to be obeyed written out. */
export const plain = (text: string): string =>
  text.replaceAll(/[\t\n\r]+/g, ' ').replaceAll(UNPRINTABLE, escaped);

/** Stays the same JSON: what is left of these in it is within texts, but for the line breaks between. */
export const plainJson = (json: string): string =>
  json.replaceAll(UNPRINTABLE, (character) => (character === '\n' ? character : escaped(character)));

export const isPlain = (text: string): boolean => text.search(UNPRINTABLE) === -1;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
