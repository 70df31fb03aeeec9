/**
 * What libraries have put on the global object while they were loaded, such as a registry of their own.
 *
 * Temporal freezes what it finds there before the first run, and libraries go on changing it. So it is taken away until
 * then, and every run gets it back: the same objects for all runs, as in the embedded sandbox.
 */
const globals = globalThis as unknown as Record<PropertyKey, unknown>;

const TEMPORALS_OWN = /^__temporal/i;

/** Has to be the first module of the bundle: nothing else has run yet. */
const standard = new Set(Reflect.ownKeys(globalThis));

export function takeLibraryGlobals(): PropertyDescriptorMap {
  const taken: PropertyDescriptorMap = {};
  for (const key of Reflect.ownKeys(globalThis)) {
    if (standard.has(key) || (typeof key === 'string' && TEMPORALS_OWN.test(key))) continue;
    if (typeof globals[key] !== 'object') continue;
    taken[key] = Object.getOwnPropertyDescriptor(globalThis, key)!;
    Reflect.deleteProperty(globalThis, key);
  }
  return taken;
}

export function giveLibraryGlobals(taken: PropertyDescriptorMap): void {
  Object.defineProperties(globalThis, taken);
}
