/** Starting a run from a page: once, however often somebody clicks. */

import { ValidationError } from 'perdure/client';
import type { Problem } from '../forms/check.js';
import { isSame } from '../forms/value.js';

export interface StartRequest {
  workflow: string;
  catalog: string | undefined;
  input: unknown;
  workflowId: string;
  idempotencyKey: string;
  budget: { amount: string; currency: string } | undefined;
}

/**
 * The key that a request is sent under. A start whose answer got lost may have been made: sent again as it was, it has
 * the same key and is the same run; with anything changed it is another one.
 */
export class StartKeys {
  #last: { request: StartRequest; key: string } | undefined;

  keyFor(request: StartRequest): string {
    if (request.idempotencyKey !== '') return request.idempotencyKey;
    if (this.#last && isSame(this.#last.request, request)) return this.#last.key;
    const key = randomKey();
    this.#last = { request, key };
    return key;
  }

  /** It was made; the next one is another. */
  forget(): void {
    this.#last = undefined;
  }
}

/** Not `randomUUID`, which browsers have only on pages that came over TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `ui-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** What the service found wrong, by the places of the form; null where it is not about the form. */
export function refusals(error: unknown, within: string): Problem[] | null {
  if (!(error instanceof ValidationError)) return null;
  const issues = error.issues ?? [];
  const problems = issues.filter(({ path }) => path[0] === within);
  if (problems.length === 0 || problems.length < issues.length) return null;
  return problems.map(({ path, message }) => ({ path: path.slice(1), message }));
}
