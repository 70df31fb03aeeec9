/** What differs between two JSON values, place by place. */
import { isObject } from '../forms/schema.js';
import { isSame, type Path } from '../forms/value.js';

export interface Difference {
  path: Path;
  /** Undefined where there is nothing at that place. */
  left: unknown;
  right: unknown;
}

/** More would not be read; beyond it the values are looked at as wholes. */
const MAX_DIFFERENCES = 200;

/** In the order of the left value, then what only the right one has. `isCut` when there are more than are told. */
export function differences(left: unknown, right: unknown): { found: Difference[]; isCut: boolean } {
  const found: Difference[] = [];
  for (const difference of differing(left, right, [])) {
    if (found.length === MAX_DIFFERENCES) return { found, isCut: true };
    found.push(difference);
  }
  return { found, isCut: false };
}

function* differing(left: unknown, right: unknown, path: Path): Generator<Difference> {
  if (left === right) return;
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let index = 0; index < Math.max(left.length, right.length); index++)
      yield* differing(left[index], right[index], [...path, index]);
  } else if (isObject(left) && isObject(right)) {
    const names = [...Object.keys(left), ...Object.keys(right).filter((name) => !Object.hasOwn(left, name))];
    for (const name of names) yield* differing(own(left, name), own(right, name), [...path, name]);
  } else if (!isSame(left, right)) yield { path, left, right };
}

const own = (object: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;
