/**
 * How messages become frames on the link between a worker and the server.
 *
 * 1. A frame is one binary WebSocket message: a JSON array of messages in UTF-8. Measured on the messages of this link,
 *    JSON takes less processor time on both sides than binary formats do, and bytes on loopback cost next to nothing.
 * 2. Both sides speak the same version or the connection is refused before it opens.
 */

export const LINK_PATH = '/worker-link';

/** Goes up with every change to the messages that an older worker or server would misread. */
export const LINK_VERSION = 1;

/** A run that is replayed whole sends its history in one message, and that may be 64 MiB (core/limits.ts). */
export const MAX_FRAME_BYTES = 128 * 1024 * 1024;

/** As few frames as the limit allows. Throws when a single message is beyond it. */
export function packFrames(messages: readonly object[], maxBytes = MAX_FRAME_BYTES): Buffer[] {
  const frame = Buffer.from(JSON.stringify(messages));
  if (frame.length <= maxBytes) return [frame];
  if (messages.length === 1) {
    const kind = String((messages[0] as { kind?: unknown }).kind);
    throw new RangeError(
      `a message of kind ${kind} takes ${frame.length} bytes; a frame may have ${maxBytes}`,
    );
  }
  const half = messages.length >> 1;
  return [...packFrames(messages.slice(0, half), maxBytes), ...packFrames(messages.slice(half), maxBytes)];
}

/** Throws when `frame` is not an array of messages. What the messages are is for the receiver to check. */
export function unpackFrame(frame: Buffer): unknown[] {
  const messages: unknown = JSON.parse(frame.toString());
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
