/** The token, for this tab alone: another tab, and this one once it is closed, does not have it. */
import { Store } from './store.js';

const KEY = 'perdure.token';

/**
 * `needed` when the server has refused a call; `wrong` when it was this token that it refused; `forgotten` when somebody has left,
 * whose runs are nothing for whoever sits down next.
 */
export type Admission = 'open' | 'needed' | 'wrong' | 'forgotten';

let token = kept();

const wantsToken = document.querySelector('meta[name="perdure-token"]')?.getAttribute('content') === 'needed';

export const admission = new Store<Admission>(wantsToken && token === undefined ? 'needed' : 'open');

export const currentToken = (): string | undefined => token;

export function admit(given: string): void {
  token = given;
  keep(given);
  admission.set('open');
}

export function forget(): void {
  token = undefined;
  keep(undefined);
  admission.set('forgotten');
}

/** A call was refused for its credentials: those that it was made with. */
export function refused(usedToken: string | undefined): void {
  // A call that was under way when the right token came says nothing about that one.
  if (usedToken !== token) return;
  admission.set(usedToken === undefined ? 'needed' : 'wrong');
}

function kept(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    // A browser that lets pages keep nothing still shows them: the token is asked for again when the page is loaded anew.
    return undefined;
  }
}

function keep(given: string | undefined): void {
  try {
    if (given === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, given);
  } catch {
    // As above.
  }
}
