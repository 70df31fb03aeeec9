/**
 * How messages become frames on the link between a worker and the server.
 *
 * 1. A frame is one binary WebSocket message: a JSON array of messages in UTF-8. Measured on the messages of this link,
 *    JSON takes less processor time on both sides than binary formats do, and bytes on loopback cost next to nothing.
 * 2. Both sides speak the same version or the connection is refused before it opens.
 */

/** As they were before any user code was there to replace them: a worker's end is in the process of its steps. */
const { stringify, parse } = JSON;

export const LINK_PATH = '/worker-link';

/** Goes up with every change to the messages that an older worker or server would misread. */
export const LINK_VERSION = 3;

/**
 * A run that is replayed whole sends its history in one message, and that may be 64 MiB (core/bounds/limits.ts); quotes and
 * backslashes within it take twice their size.
 */
export const MAX_FRAME_BYTES = 160 * 1024 * 1024;

/** As few frames as the limit allows, and none is made that is beyond it. Throws when a single message is. */
export function packFrames(messages: readonly object[], maxBytes = MAX_FRAME_BYTES): Buffer[] {
  if (messages.length === 0) return [];
  const text = textOf(messages);
  const isOneFrame =
    text !== undefined && (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes);
  return isOneFrame ? [Buffer.from(text)] : packApart(messages, maxBytes);
}

/** What is more than one frame is measured message by message, which takes longer and is rare. */
function packApart(messages: readonly object[], maxBytes: number): Buffer[] {
  const frames: Buffer[] = [];
  let texts: string[] = [];
  let bytes = BRACKETS;
  for (const message of messages) {
    const text = textOf(message);
    const size = COMMA + (text === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(text));
    if (text === undefined || BRACKETS + size > maxBytes) throw tooLarge(message, size, maxBytes);
    if (bytes + size > maxBytes) {
      frames.push(frameOf(texts, bytes));
      texts = [];
      bytes = BRACKETS;
    }
    texts.push(text);
    bytes += size;
  }
  if (texts.length > 0) frames.push(frameOf(texts, bytes));
  return frames;
}

/** Written where it is sent from: joined to one text first, everything would be copied twice more. */
function frameOf(texts: readonly string[], maxBytes: number): Buffer {
  const frame = Buffer.allocUnsafe(maxBytes);
  let end = 0;
  for (const text of texts) {
    end += frame.write(end === 0 ? '[' : ',', end);
    end += frame.write(text, end);
  }
  end += frame.write(']', end);
  return frame.subarray(0, end);
}

const BRACKETS = 2;
const COMMA = 1;

/** Undefined when it is more than a text can hold. */
function textOf(message: object): string | undefined {
  try {
    return stringify(message);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function tooLarge(message: object, bytes: number, maxBytes: number): RangeError {
  const kind = String((message as { kind?: unknown }).kind);
  return new RangeError(`a message of kind ${kind} takes ${bytes} bytes; a frame may have ${maxBytes}`);
}

/** Throws when `frame` is not an array of messages. What the messages are is for the receiver to check. */
export function unpackFrame(frame: Buffer): unknown[] {
  const messages: unknown = parse(frame.toString());
  if (!Array.isArray(messages)) throw new TypeError('a frame is an array of messages');
  return messages;
}

export function linkUrl(serverUrl: string): string {
  const url = new URL(LINK_PATH, serverUrl);
  if (url.protocol === 'http:') url.protocol = 'ws:';
  if (url.protocol === 'https:') url.protocol = 'wss:';
  url.searchParams.set('version', String(LINK_VERSION));
  return url.href;
}
