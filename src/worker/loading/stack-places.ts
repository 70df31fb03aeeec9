/** Places in stack traces. The message stands in them as well, so every line may be any text of any length. */

export interface Place {
  file: string;
  line: number;
  column: number | undefined;
  /** Where the place stands in its line. */
  start: number;
  end: number;
}

const NUMBERS = /:(\d{1,9})(?::(\d{1,9}))?(\)?)$/;

/** The place at the end of a line of a stack trace, as in `at f (a.js:1:2)` or `at a.js:1:2`. */
export function placeIn(text: string): Place | undefined {
  const match = NUMBERS.exec(text);
  if (!match) return undefined;
  const [whole, line, column, parenthesis] = match;
  const start = startOfFile(text, match.index, parenthesis !== '');
  return {
    file: text.slice(start, match.index),
    line: Number(line),
    column: column === undefined ? undefined : Number(column),
    start,
    end: match.index + whole.length - parenthesis!.length,
  };
}

const FRAME = /^\s*at (?:async )?/;

/** In a frame a file has all that stands before the numbers: folders may have spaces and parentheses in their names. */
function startOfFile(text: string, end: number, isInParentheses: boolean): number {
  const frame = FRAME.exec(text);
  const open = text.indexOf(' (');
  // What was evaluated says where, before its own place: `at eval (eval at f (a.js:1:2), <anonymous>:3:4)`.
  if (frame && !text.includes('(eval at ')) {
    if (!isInParentheses) return frame[0].length;
    if (open >= 0) return open + 2;
  }
  let start = end;
  while (start > 0 && !isBoundary(text.charCodeAt(start - 1))) start--;
  return start;
}

/** White space and parentheses. */
const isBoundary = (code: number): boolean => code <= 0x20 || code === 0x28 || code === 0x29;
