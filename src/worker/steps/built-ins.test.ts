import { expect, it } from 'vitest';
import { BuiltIns } from './built-ins.js';

const builtIns = new BuiltIns();
type Holder = Record<PropertyKey, unknown>;

/** What `restoreVital` says and leaves after `key` was given another value. Nothing else may run in between. */
function replaced(
  holder: object,
  key: PropertyKey,
  by: unknown,
): { names: string[] | undefined; now: unknown } {
  const before = Object.getOwnPropertyDescriptor(holder, key)!;
  const { defineProperty } = Object;
  defineProperty(holder, key, { value: by, writable: true, configurable: true });
  let names: string[] | undefined;
  let now: unknown;
  try {
    names = builtIns.restoreVital();
    now = (holder as Holder)[key];
  } finally {
    defineProperty(holder, key, before);
  }
  return { names, now };
}

const VITAL: Record<string, [object, PropertyKey]> = {
  'JSON.stringify': [JSON, 'stringify'],
  'Map.prototype.values': [Map.prototype, 'values'],
  'Array.prototype.pop': [Array.prototype, 'pop'],
  'the iterator of arrays': [Array.prototype, Symbol.iterator],
  'Promise.prototype.then': [Promise.prototype, 'then'],
  'RegExp.prototype.test': [RegExp.prototype, 'test'],
  'Buffer.concat': [Buffer, 'concat'],
};

it.each(Object.keys(VITAL))('puts %s back', (name) => {
  const [holder, key] = VITAL[name]!;
  const own = (holder as Holder)[key];
  const { names, now } = replaced(holder, key, () => 'evil');
  expect(now).toBe(own);
  expect(names).toEqual([typeof key === 'symbol' ? 'a symbol' : key]);
});

it.each(['setTimeout', 'performance'] as const)(
  'leaves %s wrapped, and brings it back when it is gone',
  (name) => {
    const own = globalThis[name];
    const wrapped = typeof own === 'function' ? () => own : { own };
    expect(replaced(globalThis, name, wrapped)).toEqual({ names: undefined, now: wrapped });
    for (const nothing of [undefined, null]) {
      const { names, now } = replaced(globalThis, name, nothing);
      expect(now).toBe(own);
      expect(names).toEqual([name]);
    }
  },
);

it('says nothing while all is as it was', () => {
  expect(builtIns.restoreVital()).toBeUndefined();
});
