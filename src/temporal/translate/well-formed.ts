/**
 * Texts as the cluster can take them. JavaScript lets a text end in the middle of a character, such as one that was cut
 * through an emoji; protobuf does not, and refuses the whole message. Half a character becomes U+FFFD, as everywhere
 * where such a text is written as UTF-8.
 *
 * Runs in Node and inside Temporal's workflow sandbox.
 */
import { isWellFormed, toWellFormed } from '../../core/values/text.js';

/** `message` itself when there is nothing to mend, as nearly always. */
export function wellFormed<T>(message: T): T {
  return mended(message) as T;
}

function mended(value: unknown): unknown {
  if (typeof value === 'string') return isWellFormed(value) ? value : toWellFormed(value);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const before = (value as Record<string, unknown>)[key];
    const [name, after] = [mended(key) as string, mended(before)];
    if (name === key && after === before) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    if (name !== key) delete copy[key];
    copy[name] = after;
  }
  return copy ?? value;
}
