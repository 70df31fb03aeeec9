/** What the handler of a declared message is called with: the payload as the declared schema reads it. Pure. */
import { toFailure } from '../../../core/history/failure.js';
import { decodePayload, type Payload } from '../../../core/values/json.js';
import { parseNow, type Schema } from '../../../sdk/schema.js';

export type MessageArguments =
  | {
      args: unknown[];
      /** The schema has made something else of it, such as by a default. */
      isChanged: boolean;
      refusal?: undefined;
    }
  /** It does not fit, its schema threw, or (a UsageError) the schema is async and cannot say. */
  | { refusal: Error };

export const decodeAll = (input: Payload[]): unknown[] => input.map(decodePayload);

/** `whose` names the message, such as `signal "approve"`. Messages have one payload; what other workflows add is left as it is. */
export function readArguments(input: Payload[], schema: Schema | undefined, whose: string): MessageArguments {
  const args = decodeAll(input);
  if (!schema) return { args, isChanged: false };
  try {
    const value = parseNow(schema, decodePayload(input[0]), `payload of ${whose}`);
    const parsed = value === undefined && args.length === 0 ? [] : [value, ...args.slice(1)];
    return { args: parsed, isChanged: !isSameData(args[0], value) };
  } catch (error) {
    return { refusal: error instanceof Error ? error : new TypeError(toFailure(error).message) };
  }
}

/** Whether code that reads the one would do the same with the other. */
function isSameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  // A schema may name what is not there: a member that is undefined.
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((key) =>
    isSameData(one[key], other[key]),
  );
}
