/**
 * Payloads: user values as JSON text.
 *
 * 1. A value becomes text once, where it leaves user code, and becomes a value again where user code gets it. The
 *    engine in between never parses it, so what was written is what is read.
 * 2. What JSON would silently change into something else is refused with the path to it. `undefined` as an
 *    object's property is left out and `toJSON` (dates) is honoured, as everywhere in JavaScript.
 */

/** As they were before any user code was there to replace them. */
const { stringify, parse } = JSON;

/** A JSON text. */
export type Payload = string;

export class PayloadError extends Error {
  override readonly name = 'PayloadError';
  readonly nonRetryable = true;
  constructor(
    readonly path: string,
    what: string,
  ) {
    super(`${path} is ${what}, which JSON cannot carry`);
  }
}

/** A payload for `value`, or undefined for no value at all. `label` names the value in the error, such as "result". */
export function encodePayload(value: unknown, label: string): Payload | undefined {
  if (value === undefined) return undefined;
  check(value, label, []);
  return stringify(value);
}

/** Payloads for arguments, of which the last may be left out, and no other: those behind it would move to its place. */
export function encodeArguments(args: readonly unknown[], label: string): Payload[] {
  const given = args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
  return given.map((arg, i) => {
    const payload = encodePayload(arg, label);
    if (payload === undefined)
      throw new PayloadError(label, `undefined as number ${i + 1} of ${given.length}`);
    return payload;
  });
}

export function decodePayload(payload: Payload | undefined): unknown {
  return payload === undefined ? undefined : parse(payload);
}

/** Depth beyond which JSON.stringify itself may overflow the stack; the door (http/) refuses far earlier. */
const MAX_DEPTH = 1000;

function check(value: unknown, path: string, ancestors: object[]): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw new PayloadError(path, String(value));
      return;
    case 'bigint':
      throw new PayloadError(path, 'a BigInt');
    case 'function':
      throw new PayloadError(path, 'a function');
    case 'symbol':
      throw new PayloadError(path, 'a symbol');
  }
  if (value === null) return;
  const object = value as object & { toJSON?: unknown };
  if (ancestors.includes(object)) throw new PayloadError(path, 'a circular reference');
  if (ancestors.length > MAX_DEPTH) throw new PayloadError(path, `nested deeper than ${MAX_DEPTH} levels`);
  if (typeof object.toJSON === 'function') {
    const replaced: unknown = object.toJSON('');
    if (replaced === null && object instanceof Date) throw new PayloadError(path, 'an invalid date');
    if (replaced !== object) {
      check(replaced, path, [...ancestors, object]);
      return;
    }
  }
  ancestors.push(object);
  if (Array.isArray(object)) {
    for (let i = 0; i < object.length; i++) {
      if (object[i] === undefined) throw new PayloadError(`${path}[${i}]`, 'undefined in an array');
      check(object[i], `${path}[${i}]`, ancestors);
    }
  } else {
    const tag = Object.prototype.toString.call(object);
    if (UNCARRIED.has(tag)) throw new PayloadError(path, `a ${tag.slice(8, -1)}`);
    for (const key of Object.keys(object)) {
      check((object as Record<string, unknown>)[key], propertyPath(path, key), ancestors);
    }
  }
  ancestors.pop();
}

/** JSON.stringify makes `{}` of these, which would lose their contents without a word. */
const UNCARRIED = new Set([
  '[object Map]',
  '[object Set]',
  '[object WeakMap]',
  '[object WeakSet]',
  '[object Promise]',
  '[object ArrayBuffer]',
  '[object RegExp]',
]);

function propertyPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${stringify(key)}]`;
}
