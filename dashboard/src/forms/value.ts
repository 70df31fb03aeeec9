/** JSON values, changed at a place without changing what others hold. */
import { isObject } from './schema.js';

export type Path = readonly (string | number)[];

/** The value with another one at the path. Undefined takes a member away; the place of an item stays, with null. */
export function withValue(value: unknown, path: Path, next: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return next;
  if (Array.isArray(value)) {
    const index = Number(key);
    const item = withValue(value[index], rest, next);
    return Object.assign([...value], { [index]: item === undefined ? null : item });
  }
  const { [key]: member, ...others } = isObject(value) ? value : {};
  const changed = withValue(member, rest, next);
  if (changed === undefined) return others;
  // A member that was there keeps its place, so that the text beside the form does not jump.
  return isObject(value) && Object.hasOwn(value, key)
    ? Object.fromEntries(Object.entries(value).map(([name, old]) => [name, name === key ? changed : old]))
    : { ...others, [key]: changed };
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      (isObject(inner) || Array.isArray(inner)) && Object.hasOwn(inner, key)
        ? (inner as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}

/** A member under another name, at its old place. */
export function withName(
  object: Record<string, unknown>,
  name: string,
  next: string,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key === name ? next : key, value]));
}

export const pathKey = (path: Path): string => JSON.stringify(path);

/** As somebody would write it in code: `lines[0].sku`. */
export function pathText(path: Path): string {
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`;
      if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)) return `[${JSON.stringify(key)}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join('');
}

export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}
