/**
 * The built-ins of this process, which steps share with the worker itself.
 *
 * A step that replaces `JSON.stringify` or `Map.prototype.get` would take the worker with it, for all runs and for good.
 * Built-ins are put back as they were when all files had been loaded: the few without which nothing works right after
 * a step's code has run, the others a few times a second. What files change while they are loaded stays, and so does
 * all that steps add (`BigInt.prototype.toJSON`) or wrap beside JavaScript itself (`fetch`, `console`, timers). What they
 * delete of the latter comes back where nothing works without it.
 */
import { compileFunction } from 'node:vm';

type Holder = Record<PropertyKey, unknown>;

const {
  getOwnPropertyDescriptor,
  getOwnPropertyNames,
  getOwnPropertySymbols,
  getPrototypeOf,
  defineProperty,
} = Object;

/** Nothing of an answer leaves without these. */
const VITAL: [unknown, ...PropertyKey[]][] = [
  [JSON, 'stringify', 'parse'],
  [Map.prototype, 'get', 'set', 'has', 'delete', 'values'],
  [Set.prototype, 'add', 'delete', 'has'],
  [Array.prototype, 'push', 'map', 'filter', 'splice', 'slice', 'includes', 'pop', Symbol.iterator],
  [getPrototypeOf([][Symbol.iterator]()), 'next'],
  [Promise.prototype, 'then', 'catch'],
  [Function.prototype, 'call', 'apply'],
  [Object, 'keys', 'entries', 'assign'],
  [String.prototype, 'slice', 'replace', 'split'],
  [RegExp.prototype, 'exec', 'test'],
  [Buffer, 'from', 'byteLength', 'allocUnsafe', 'concat'],
];

/** Names that every step and the worker use: they may be wrapped, but have to be there. */
const GLOBALS = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'queueMicrotask',
  'AbortController',
  'AbortSignal',
  'Buffer',
  'process',
  'performance',
] as const;

const OTHERS = [
  ...[
    Object,
    Function,
    Array,
    String,
    Number,
    Boolean,
    Symbol,
    BigInt,
    Map,
    Set,
    WeakMap,
    WeakSet,
    Promise,
    RegExp,
  ],
  ...[
    Date,
    Error,
    TypeError,
    RangeError,
    AggregateError,
    ArrayBuffer,
    DataView,
    getPrototypeOf(Uint8Array),
    Uint8Array,
  ],
  ...[Buffer, AbortController, AbortSignal, EventTarget, TextEncoder, TextDecoder, URL],
] as (Holder & { prototype?: Holder })[];
const NAMESPACES = [JSON, Math, Reflect, Atomics, performance] as unknown as Holder[];

interface Known {
  holder: Holder;
  key: PropertyKey;
  value: unknown;
  mayBeWrapped?: boolean;
}

export class BuiltIns {
  readonly #vital: Known[] = [
    ...VITAL.flatMap(([holder, ...keys]) =>
      keys.map((key) => ({ holder: holder as Holder, key, value: (holder as Holder)[key] })),
    ),
    ...GLOBALS.map((key) => ({
      holder: globalThis as Holder,
      key,
      value: globalThis[key],
      mayBeWrapped: true,
    })),
  ];
  readonly #isIntact = intactness(this.#vital);
  readonly #all: Known[];

  constructor() {
    const holders = new Set([...OTHERS, ...NAMESPACES]);
    for (const { prototype } of OTHERS) if (prototype) holders.add(prototype);
    this.#all = [...holders].flatMap(functionsOf);
  }

  /** Puts back what nothing works without; the names of what was another. To be called after user code has run. */
  restoreVital(): string[] | undefined {
    return this.#isIntact() ? undefined : restore(this.#vital);
  }

  restoreAll(): string[] | undefined {
    return restore(this.#all);
  }
}

function functionsOf(holder: Holder): Known[] {
  const known: Known[] = [];
  for (const key of [...getOwnPropertyNames(holder), ...getOwnPropertySymbols(holder)]) {
    const { value } = getOwnPropertyDescriptor(holder, key)!;
    if (typeof value === 'function') known.push({ holder, key, value });
  }
  return known;
}

/**
 * Whether all of them are as they were. One expression in which every name is written out: V8 answers it from its inline
 * caches, twenty times as fast as a loop over names, and it is asked twice for every step. Uses nothing that could have
 * been replaced.
 */
function intactness(known: readonly Known[]): () => boolean {
  const tests = known.map(({ key, value, mayBeWrapped }, i) => {
    const found = typeof key === 'symbol' ? `known[${i}].holder[known[${i}].key]` : `h${i}.${String(key)}`;
    const isSame = `${found} === v${i}`;
    return mayBeWrapped
      ? `(${isSame} || (typeof ${found} === '${typeof value}' && ${found} !== null))`
      : isSame;
  });
  const parts = known.map((_, i) => `h${i} = known[${i}].holder, v${i} = known[${i}].value`);
  const make = compileFunction(`const ${parts.join(', ')};\nreturn () => ${tests.join(' &&\n')};`, ['known']);
  return (make as (known: readonly Known[]) => () => boolean)(known);
}

/** Uses nothing that could have been replaced. */
function restore(known: readonly Known[]): string[] | undefined {
  let count = 0;
  let names: string[] | undefined;
  for (let i = 0; i < known.length; i++) {
    const { holder, key, value, mayBeWrapped } = known[i]!;
    const found = holder[key];
    if (found === value || (mayBeWrapped && typeof found === typeof value && found !== null)) continue;
    try {
      defineProperty(holder, key, { value, writable: true, configurable: true, enumerable: false });
    } catch {
      // Made unchangeable by whoever replaced it: it can only be told.
    }
    names ??= [];
    names[count++] = typeof key === 'symbol' ? 'a symbol' : (key as string);
  }
  return names;
}
