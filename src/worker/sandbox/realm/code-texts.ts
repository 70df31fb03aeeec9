/**
 * `new Function(text)` and its like, without `import()`: the host would answer that with an error of its own, and what
 * belongs to the host leads out of the sandbox. In files it has become a `require` when they were loaded.
 */

type Maker = new (...texts: string[]) => (...args: unknown[]) => unknown;

/** Replaces the constructors of all kinds of functions. */
export function withoutImports(): void {
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  let plain: object | undefined;
  for (const kind of kinds) {
    const { prototype, guarded } = guard(kind);
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(prototype, 'constructor')!;
    Object.defineProperty(prototype, 'constructor', { value: guarded, writable, enumerable, configurable });
    // The constructors of the other kinds inherit from that of plain functions.
    if (plain) Object.setPrototypeOf(guarded, plain);
    plain ??= guarded;
  }
  Object.defineProperty(globalThis, 'Function', { value: plain, writable: true, configurable: true });
}

function guard(kind: object): { prototype: object; guarded: object } {
  const prototype = Object.getPrototypeOf(kind) as { constructor: Maker };
  const made = prototype.constructor;
  function guarded(...texts: unknown[]): unknown {
    // Made texts once: whoever converts them twice may be given another one the second time.
    return Reflect.construct(made, texts.map(String).map(withoutImport), new.target ?? made);
  }
  const own = (value: unknown) => ({ value, configurable: true });
  Object.defineProperties(guarded, { name: own(made.name), length: own(made.length) });
  Object.defineProperty(guarded, 'prototype', { value: prototype, writable: false });
  return { prototype, guarded };
}

/**
 * With an escape in it the word is no keyword any more, and the same as before in texts, expressions and the names of
 * properties. After an odd number of backslashes it is within one of these, and its first letter is escaped already.
 */
function withoutImport(code: string): string {
  return code.replace(/(?<!\\)((?:\\\\)*)\bimport\b/g, '$1\\u0069mport');
}
