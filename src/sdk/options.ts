/** Options have known names: one that is mistyped, or of another library, must not be taken for granted and do nothing. */
import { nearestName } from '../core/values/nearest.js';
import { DefinitionError } from './errors.js';

/**
 * `what` names whose options they are, such as `step "charge"`.
 * @throws DefinitionError for anything but an object that has no other names than `known`
 */
export function checkOptions(what: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new DefinitionError(
      `${what} must be an object with ${known.join(', ')}, and is ${described(given)}`,
    );
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, known);
  const hint = nearest === undefined ? `known are ${known.join(', ')}` : `did you mean "${nearest}"?`;
  throw new DefinitionError(`${what} has no option "${unknown}": ${hint}`);
}

/** What was given in place of what is asked for. */
export function described(given: unknown): string {
  if (Array.isArray(given)) return 'a list';
  if (typeof given === 'string') return JSON.stringify(given);
  return typeof given === 'object' && given !== null ? 'an object' : String(given);
}
