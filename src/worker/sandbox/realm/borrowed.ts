/**
 * Plain functions and classes that JavaScript itself lacks and libraries expect. They come from the process around the
 * sandbox, but never as they are: what workflows get hold of is made in here, down to the errors, so that it is frozen
 * with the rest and nothing leads from it to the process.
 */
import { abortGlobals } from './abort.js';

/** The host's own, to be wrapped. */
export interface HostGlobals {
  URL: typeof URL;
  URLSearchParams: typeof URLSearchParams;
  TextEncoder: typeof TextEncoder;
  TextDecoder: typeof TextDecoder;
  atob: typeof atob;
  btoa: typeof btoa;
}

export function borrowedGlobals(host: HostGlobals): Record<string, unknown> {
  return {
    ...urlGlobals(host),
    ...textGlobals(host),
    ...abortGlobals(),
    atob: (encoded: unknown) => {
      const text = String(encoded);
      return ask(() => host.atob(text));
    },
    btoa: (bytes: unknown) => {
      const text = String(bytes);
      return ask(() => host.btoa(text));
    },
    structuredClone: (value: unknown) => clone(value, new Map()),
  };
}

/**
 * What the host answers. An error of the host's is thrown as one that is made in here. Every call of the host goes through
 * this, those that cannot fail too: the stack may end within any of them, and that is an error of the host's. Arguments are
 * made texts before, by code of the workflow's, which may throw whatever it likes.
 */
export function ask<T>(question: () => T): T {
  try {
    return question();
  } catch (error) {
    // What user code threw on the way is its own.
    if (error instanceof Error || typeof error !== 'object' || error === null) throw error;
    const { name, message, code } = error as { name?: unknown; message?: unknown; code?: unknown };
    const Type = name === 'TypeError' ? TypeError : name === 'RangeError' ? RangeError : Error;
    const own = new Type(String(message));
    if (own.name !== name)
      Object.defineProperty(own, 'name', { value: String(name), writable: true, configurable: true });
    throw code === undefined
      ? own
      : Object.assign(own, { code: typeof code === 'number' ? code : String(code) });
  }
}

function urlGlobals(host: HostGlobals): Record<string, unknown> {
  let paramsOf: (params: globalThis.URLSearchParams) => URLSearchParams;

  class URLSearchParams {
    #host: globalThis.URLSearchParams;
    static {
      paramsOf = (params) => {
        const made = new URLSearchParams();
        made.#host = params;
        return made;
      };
    }
    constructor(init?: unknown) {
      const given = init instanceof URLSearchParams ? [...init] : init;
      this.#host = ask(() => new host.URLSearchParams(given as [string, string][]));
    }
    get size(): number {
      return ask(() => this.#host.size);
    }
    append(name: unknown, value: unknown): void {
      const texts = [String(name), String(value)] as const;
      ask(() => this.#host.append(...texts));
    }
    set(name: unknown, value: unknown): void {
      const texts = [String(name), String(value)] as const;
      ask(() => this.#host.set(...texts));
    }
    delete(name: unknown, value?: unknown): void {
      const text = String(name);
      const only = value === undefined ? undefined : String(value);
      ask(() => (only === undefined ? this.#host.delete(text) : this.#host.delete(text, only)));
    }
    get(name: unknown): string | null {
      const text = String(name);
      return ask(() => this.#host.get(text));
    }
    getAll(name: unknown): string[] {
      const text = String(name);
      return ask(() => [...this.#host.getAll(text)]);
    }
    has(name: unknown, value?: unknown): boolean {
      const text = String(name);
      const only = value === undefined ? undefined : String(value);
      return ask(() => (only === undefined ? this.#host.has(text) : this.#host.has(text, only)));
    }
    sort(): void {
      ask(() => this.#host.sort());
    }
    forEach(fn: (value: string, name: string, all: URLSearchParams) => void, thisArg?: unknown): void {
      for (const [name, value] of this) fn.call(thisArg, value, name, this);
    }
    entries(): IterableIterator<[string, string]> {
      const pairs: [string, string][] = [];
      ask(() => {
        for (const [name, value] of this.#host) pairs.push([name, value]);
      });
      return pairs[Symbol.iterator]();
    }
    keys(): IterableIterator<string> {
      return [...this].map(([name]) => name)[Symbol.iterator]();
    }
    values(): IterableIterator<string> {
      return [...this].map(([, value]) => value)[Symbol.iterator]();
    }
    [Symbol.iterator](): IterableIterator<[string, string]> {
      return this.entries();
    }
    toString(): string {
      return ask(() => this.#host.toString());
    }
    get [Symbol.toStringTag](): string {
      return 'URLSearchParams';
    }
  }

  class URL {
    readonly #host: globalThis.URL;
    #params: URLSearchParams | undefined;
    constructor(url: unknown, base?: unknown) {
      const text = String(url);
      const from = base === undefined ? undefined : String(base);
      this.#host = ask(() => new host.URL(text, from));
    }
    static canParse(url: unknown, base?: unknown): boolean {
      const text = String(url);
      const from = base === undefined ? undefined : String(base);
      return ask(() => host.URL.canParse(text, from));
    }
    get searchParams(): URLSearchParams {
      this.#params ??= paramsOf(ask(() => this.#host.searchParams));
      return this.#params;
    }
    get origin(): string {
      return ask(() => this.#host.origin);
    }
    toString(): string {
      return ask(() => this.#host.href);
    }
    toJSON(): string {
      return ask(() => this.#host.href);
    }
    get [Symbol.toStringTag](): string {
      return 'URL';
    }
    static {
      for (const part of URL_PARTS) {
        Object.defineProperty(URL.prototype, part, {
          enumerable: true,
          configurable: true,
          get(this: URL) {
            return ask(() => this.#host[part]);
          },
          set(this: URL, value: unknown) {
            const text = String(value);
            ask(() => {
              this.#host[part] = text;
            });
          },
        });
      }
    }
  }
  return { URL, URLSearchParams };
}

const URL_PARTS = [
  'href',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;

function textGlobals(host: HostGlobals): Record<string, unknown> {
  class TextEncoder {
    readonly #host = ask(() => new host.TextEncoder());
    get encoding(): string {
      return ask(() => this.#host.encoding);
    }
    encode(text: unknown = ''): Uint8Array {
      const whole = String(text);
      return new Uint8Array(ask(() => this.#host.encode(whole)));
    }
    encodeInto(text: unknown, target: Uint8Array): { read: number; written: number } {
      const whole = String(text);
      const { read, written } = ask(() => this.#host.encodeInto(whole, target));
      return { read, written };
    }
  }
  class TextDecoder {
    readonly #host: InstanceType<HostGlobals['TextDecoder']>;
    constructor(label: unknown = 'utf-8', options?: { fatal?: boolean; ignoreBOM?: boolean }) {
      const encoding = String(label);
      this.#host = ask(() => new host.TextDecoder(encoding, options));
    }
    get encoding(): string {
      return ask(() => this.#host.encoding);
    }
    get fatal(): boolean {
      return ask(() => this.#host.fatal);
    }
    get ignoreBOM(): boolean {
      return ask(() => this.#host.ignoreBOM);
    }
    decode(bytes?: ArrayBuffer | NodeJS.ArrayBufferView, options?: { stream?: boolean }): string {
      return ask(() => this.#host.decode(bytes, options));
    }
  }
  return { TextEncoder, TextDecoder };
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
