/** The frames of a `text/event-stream`, as they come in. Reads no further than it is asked to. */
import { UnexpectedAnswerError } from './errors.js';

export interface Frame {
  event: string;
  data: string;
  id: string | undefined;
}

/** Of one frame, far beyond what the server puts into one. One that has no end would take all memory. */
const MOST_CHARACTERS = 128 * 1024 * 1024;

/**
 * `read` answers with the next piece of the stream, or undefined at its end. A frame that broke off is dropped.
 * @throws UnexpectedAnswerError for one that goes on without end
 */
export async function* frames(read: () => Promise<string | undefined>): AsyncGenerator<Frame, void, void> {
  // A large frame comes in many pieces: what was searched is put aside, and joined only when the end is there.
  let searched: string[] = [];
  let length = 0;
  let rest = '';
  for (let piece = await read(); piece !== undefined; piece = await read()) {
    rest += piece;
    for (let end = BLANK_LINE.exec(rest); end; end = BLANK_LINE.exec(rest)) {
      const frame = parseFrame(searched.join('') + rest.slice(0, end.index));
      searched = [];
      length = 0;
      rest = rest.slice(end.index + end[0].length);
      if (frame) yield frame;
    }
    // An end may begin with the last characters that are here.
    const without = rest.slice(0, -3);
    searched.push(without);
    length += without.length;
    rest = rest.slice(-3);
    if (length > MOST_CHARACTERS)
      throw new UnexpectedAnswerError('The stream has a frame that goes on without end', { status: 200 });
  }
}

const BLANK_LINE = /\r\n\r\n|\n\n|\r\r(?!\n)/;

/** Undefined for comments, which only keep the connection open. */
function parseFrame(text: string): Frame | undefined {
  const fields: Record<string, string> = {};
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const [name, value] =
      colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (name === 'data') data.push(value);
    else fields[name] = value;
  }
  if (data.length === 0) return undefined;
  return { event: fields.event || 'message', data: data.join('\n'), id: fields.id };
}
