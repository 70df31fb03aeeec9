/** What the calls of a test take: a slip in a name would else go unnoticed. */
import { unknownName } from '../core/values/nearest.js';
import { UsageError } from '../sdk/errors.js';

/** @throws UsageError with the nearest name that is known */
export function refuseUnknown(where: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new UsageError(`${where}() has an ${unknownName('option', unknown, known)}`);
}
