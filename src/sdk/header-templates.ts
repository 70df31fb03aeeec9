/**
 * Headers that name environment variables: `Bearer $TOKEN` goes into the history as it is, and the worker puts the value
 * in when the request is made. A request has to be marked for it, since a `$` may also be just that.
 */
import { FatalError } from './errors.js';

/** Not a name, so that no caller can set it by what it passes on. */
const TEMPLATES: unique symbol = Symbol('header templates');

type Marked = { [TEMPLATES]?: true };

export function withTemplates<T extends object>(request: T): T {
  return Object.assign(request, { [TEMPLATES]: true });
}

/** What the step is told of it. */
export const templatesOf = (request: object): { headerTemplates?: true } =>
  (request as Marked)[TEMPLATES] ? { headerTemplates: true } : {};

const NAME = /\$([A-Za-z_][A-Za-z0-9_]*)/g;

/** The headers with the values of the variables that they name. @throws FatalError when one is not set */
export function filledIn(
  headers: Record<string, string> | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> | undefined {
  if (!headers) return undefined;
  return Object.fromEntries(
    Object.entries(headers).map(([header, value]) => [
      header,
      String(value).replace(NAME, (_, name: string) => {
        const found = environment[name];
        if (found === undefined) {
          throw new FatalError(
            `the header ${header} names the environment variable ${name}, which is not set where this worker runs`,
          );
        }
        return found;
      }),
    ]),
  );
}
