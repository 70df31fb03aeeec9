/** JSON as text beside a form: written the same way everywhere, and read with the place of what is wrong. */

export type ReadJson = { value: unknown; error: null } | { value: undefined; error: string };

export const writeJson = (value: unknown): string =>
  value === undefined ? '' : JSON.stringify(value, null, 2);

/** An empty text is no value at all. */
export function readJson(text: string): ReadJson {
  if (text.trim() === '') return { value: undefined, error: null };
  try {
    const value: unknown = JSON.parse(text);
    const changed = changedNumber(text);
    return changed === undefined ? { value, error: null } : { value: undefined, error: changed };
  } catch (error) {
    return { value: undefined, error: `This is not JSON yet: ${wordsOf(error as Error, text)}` };
  }
}

/** Texts, and numbers outside of them. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** A number that would be sent as another one than is written there, in words. */
export function changedNumber(text: string): string | undefined {
  for (const [token] of text.matchAll(TOKENS)) {
    const sent = token.startsWith('"') ? 0 : Number(token);
    if (!Number.isFinite(sent))
      return `The number ${token} is too large. Write it as text, in quotation marks.`;
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(sent) && BigInt(token) !== BigInt(sent)) {
      return `The number ${token} would be sent as ${BigInt(sent)}: it has more digits than numbers keep. Write it as text, in quotation marks.`;
    }
  }
  return undefined;
}

/** Browsers tell the place in different ways, or not at all; a person looks for a line. */
function wordsOf({ message }: Error, text: string): string {
  const position = /position (\d+)/.exec(message)?.[1];
  const said = message
    .replace(/^JSON\.parse: /, '')
    .replace(/,? *(\.\.\.)?".*" is not valid JSON$/s, '')
    .replace(/ (in JSON )?at position \d+.*$/s, '');
  if (position === undefined) return `${said}.`;
  const before = text.slice(0, Number(position)).split('\n');
  return `${said} in line ${before.length}, column ${before.at(-1)!.length + 1}.`;
}
