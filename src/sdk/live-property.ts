/**
 * A property of many objects that is computed whenever it is read. A getter of each object's own would do, but V8 keeps those in memory
 * that is old from the start, and with them, until the next full collection of garbage, all that they refer to. So all objects
 * share one getter, which finds in the object, or in what stands for it, how its value is computed.
 */
export class LiveProperty<Name extends string, T> {
  /** For who freezes what all objects share. */
  readonly getter: () => T;
  readonly #name: Name;
  readonly #key: symbol;

  constructor(name: Name) {
    const key = Symbol(name);
    this.#name = name;
    this.#key = key;
    this.getter = function (this: unknown) {
      return (this as Record<symbol, () => T>)[key]!();
    };
  }

  addTo<Target extends object>(target: Target, read: () => T): Target & { readonly [K in Name]: T } {
    Object.defineProperty(target, this.#key, { value: read });
    Object.defineProperty(target, this.#name, { get: this.getter, enumerable: true, configurable: true });
    return target as Target & { readonly [K in Name]: T };
  }
}
