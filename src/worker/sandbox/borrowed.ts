/**
 * Plain functions and classes that JavaScript itself lacks and libraries expect. They come from the process around the
 * sandbox, but never as they are: what runs share must be the sandbox's own, so that it can be frozen, and values that
 * come out belong to the sandbox as well.
 */

/** The host's own, to be wrapped. */
export interface HostGlobals {
  URL: typeof URL;
  URLSearchParams: typeof URLSearchParams;
  TextEncoder: typeof TextEncoder;
  TextDecoder: typeof TextDecoder;
  AbortController: typeof AbortController;
  atob: typeof atob;
  btoa: typeof btoa;
}

export function borrowedGlobals(host: HostGlobals): Record<string, unknown> {
  return {
    URL: class URL extends host.URL {},
    URLSearchParams: class URLSearchParams extends host.URLSearchParams {},
    TextDecoder: class TextDecoder extends host.TextDecoder {},
    TextEncoder: class TextEncoder extends host.TextEncoder {
      override encode(text?: string) {
        return new Uint8Array(super.encode(text));
      }
    },
    AbortController: class AbortController extends host.AbortController {},
    atob: (text: string) => host.atob(text),
    btoa: (text: string) => host.btoa(text),
    structuredClone: (value: unknown) => clone(value, new Map()),
  };
}

function clone(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`structuredClone() cannot copy ${String(value)}`);
  }
  if (typeof value !== 'object' || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const remember = <T extends object>(copy: T): T => {
    seen.set(value, copy);
    return copy;
  };
  if (value instanceof Date) return remember(new Date(value.getTime()));
  if (value instanceof RegExp) return remember(new RegExp(value.source, value.flags));
  if (value instanceof Error) return remember(Object.assign(new Error(value.message), { name: value.name }));
  if (value instanceof ArrayBuffer) return remember(value.slice(0));
  if (ArrayBuffer.isView(value)) return remember(cloneView(value));
  if (value instanceof Map) {
    const copy = remember(new Map<unknown, unknown>());
    for (const [key, item] of value) copy.set(clone(key, seen), clone(item, seen));
    return copy;
  }
  if (value instanceof Set) {
    const copy = remember(new Set<unknown>());
    for (const item of value) copy.add(clone(item, seen));
    return copy;
  }
  const copy = remember(
    Array.isArray(value) ? new Array<unknown>(value.length) : ({} as Record<string, unknown>),
  );
  for (const [key, item] of Object.entries(value)) (copy as Record<string, unknown>)[key] = clone(item, seen);
  return copy;
}

function cloneView(view: ArrayBufferView): ArrayBufferView {
  const Type = view.constructor as new (buffer: ArrayBufferLike) => ArrayBufferView;
  return new Type(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}
