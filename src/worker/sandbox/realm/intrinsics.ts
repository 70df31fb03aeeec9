/**
 * Freezes what all runs of a sandbox share, completely: everything that can be reached is found by walking there.
 *
 * A frozen prototype has a side effect that JavaScript is blamed for: assigning to a property of an object fails if the
 * object inherits a frozen one of that name, so `error.name = …` or `object.toString = …` would throw. So properties of
 * prototypes become accessors, whose setter gives the assigned-to object its own property. Those of lists, texts and
 * promises mostly do not: an accessor in the way of every `await` and every method of lists would cost a fifth of a turn.
 */

/** `roots` are the beginnings of the walk; what cannot be reached from a name is added to them here. */
export function hardenIntrinsics(roots: Iterable<unknown>, except: ReadonlySet<unknown> = new Set()): void {
  forgetLastMatches();
  ignoreStackFormatters();
  const objects = reachable([...roots, ...nameless()], new Set([...except, globalThis]));
  for (const prototype of prototypesAmong(objects)) makeShadowable(prototype, isOftenShadowed);
  for (const object of objects) Object.freeze(object);
}

/**
 * Freezes what files hold that runs share: they have no state that we could find, and none that we could not find may
 * come to be. Schemas complete themselves when they are used, so of them only the outside is frozen.
 */
export function freezeShared(values: unknown[]): void {
  const objects = reachable(values, new Set(), (object) => Object.isFrozen(object) || isSchema(object));
  for (const prototype of prototypesAmong(objects)) makeShadowable(prototype, () => true);
  for (const object of objects) Object.freeze(object);
  for (const value of values) if (isSchema(value)) freezeOutside(value);
}

const isSchema = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && '~standard' in value;

function freezeOutside(schema: object): void {
  // A schema makes its methods its own when they are first asked for.
  for (let from = schema; from && from !== Object.prototype; from = Object.getPrototypeOf(from) as object) {
    for (const key of Reflect.ownKeys(from)) Reflect.get(schema, key);
  }
  for (const key of Reflect.ownKeys(schema)) {
    const { value } = Object.getOwnPropertyDescriptor(schema, key)!;
    if (value !== undefined) Object.defineProperty(schema, key, { writable: false, configurable: false });
  }
  Object.preventExtensions(schema);
}

/** What only syntax or a call leads to. */
function nameless(): unknown[] {
  function* generator() {}
  async function* asyncGenerator() {}
  const samples: unknown[] = [
    generator,
    generator(),
    asyncGenerator,
    asyncGenerator(),
    async () => {},
    [][Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    ''[Symbol.iterator](),
    ''.matchAll(/./g),
    new Error(),
    (function sample(..._args: unknown[]) {
      // biome-ignore lint/complexity/noArguments: the object itself is what is wanted
      return arguments;
    })(),
  ];
  const segments = new Intl.Segmenter().segment('');
  samples.push(segments, segments[Symbol.iterator]());
  // Newer than the oldest Node that this runs on.
  const { Iterator } = globalThis as {
    Iterator?: { from(source: object): { map(fn: (value: unknown) => unknown): unknown } };
  };
  if (Iterator) {
    const wrapped = Iterator.from({ next: () => ({ done: true }) });
    samples.push(
      wrapped,
      wrapped.map((value) => value),
    );
  }
  return samples;
}

function reachable(
  roots: unknown[],
  except: ReadonlySet<unknown>,
  isEnd: (object: object) => boolean = () => false,
): Set<object> {
  const found = new Set<object>();
  const queue: unknown[] = [...roots];
  for (let at = 0; at < queue.length; at++) {
    const value = queue[at];
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) continue;
    if (found.has(value) || except.has(value) || !isOfThisRealm(value)) continue;
    if (isEnd(value)) continue;
    found.add(value);
    queue.push(Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key)!;
      queue.push(held, get, set);
    }
  }
  return found;
}

/** What belongs to the process around the sandbox is not ours to freeze. */
function isOfThisRealm(object: object): boolean {
  let top = object;
  for (
    let up = Object.getPrototypeOf(top) as object | null;
    up;
    up = Object.getPrototypeOf(up) as object | null
  )
    top = up;
  return top === object || top === Object.prototype;
}

function prototypesAmong(objects: ReadonlySet<object>): Set<object> {
  const prototypes = new Set<object>();
  for (const object of objects) {
    if (typeof object !== 'function') prototypes.add(Object.getPrototypeOf(object) as object);
    const made = Object.getOwnPropertyDescriptor(object, 'prototype')?.value as unknown;
    if (typeof object === 'function' && made) prototypes.add(made as object);
  }
  for (const prototype of prototypes) if (!objects.has(prototype)) prototypes.delete(prototype);
  return prototypes;
}

function makeShadowable(
  prototype: object,
  isShadowed: (prototype: object, key: PropertyKey) => boolean,
): void {
  for (const key of Reflect.ownKeys(prototype)) {
    const { value, writable, configurable, enumerable } = Object.getOwnPropertyDescriptor(prototype, key)!;
    if (!writable || !configurable || !isShadowed(prototype, key)) continue;
    // Methods, which have no `prototype` that would be another object to share.
    const { get, set } = {
      get: () => value as unknown,
      set(this: unknown, own: unknown) {
        shadow(prototype, this, key, own);
      },
    };
    Object.freeze(get);
    Object.freeze(set);
    Object.defineProperty(prototype, key, { get, set, enumerable, configurable: false });
  }
}

/** V8 asks for these with every `await`, every loop over a list and every text that is handled. */
const HOT: ReadonlySet<object> = new Set([
  Array.prototype,
  Promise.prototype,
  String.prototype,
  Object.getPrototypeOf([][Symbol.iterator]()) as object,
]);

/** What of the hot ones is shadowed nevertheless, by objects of their kind. */
const SHADOWED_KEYS: ReadonlySet<PropertyKey> = new Set([
  'constructor',
  'toString',
  'toLocaleString',
  'valueOf',
  'toJSON',
  'name',
  'message',
]);

function isOftenShadowed(prototype: object, key: PropertyKey): boolean {
  if (!HOT.has(prototype)) return true;
  const isHottest =
    key === 'constructor' && (prototype === Promise.prototype || prototype === Array.prototype);
  return SHADOWED_KEYS.has(key) && !isHottest;
}

function shadow(prototype: object, target: unknown, key: PropertyKey, value: unknown): void {
  if (
    target === prototype ||
    (typeof target !== 'object' && typeof target !== 'function') ||
    target === null
  ) {
    throw new TypeError(`Cannot assign to read only property '${String(key)}': all runs share it`);
  }
  const descriptor = Object.hasOwn(target, key)
    ? { value }
    : { value, writable: true, enumerable: true, configurable: true };
  Object.defineProperty(target, key, descriptor);
}

/** `RegExp.$1` and its like show what was matched last, by whatever run. */
function forgetLastMatches(): void {
  for (const key of Reflect.ownKeys(RegExp)) {
    if (typeof key === 'string' && Object.getOwnPropertyDescriptor(RegExp, key)!.get)
      Reflect.deleteProperty(RegExp, key);
  }
}

/** Libraries set `Error.prepareStackTrace` and put it back; for all runs stacks stay as they are. */
function ignoreStackFormatters(): void {
  const key = 'prepareStackTrace';
  const value = (Error as { prepareStackTrace?: unknown })[key];
  const { get, set } = {
    get: () => value,
    set(this: unknown, own: unknown) {
      if (this !== Error) shadow(Error, this, key, own);
    },
  };
  Object.defineProperty(Error, key, { get, set, enumerable: false, configurable: false });
}
