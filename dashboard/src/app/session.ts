/** The token, for this tab alone: another tab, and this one once it is closed, does not have it. */
import { Store } from './store.js';

const KEY = 'perdure.token';

/** `needed` when the server has refused a call; `wrong` when it was this token that it refused. */
export type Admission = 'open' | 'needed' | 'wrong';

let token = sessionStorage.getItem(KEY) ?? undefined;

const wantsToken = document.querySelector('meta[name="perdure-token"]')?.getAttribute('content') === 'needed';

export const admission = new Store<Admission>(wantsToken && token === undefined ? 'needed' : 'open');

export const currentToken = (): string | undefined => token;

export function admit(given: string): void {
  token = given;
  sessionStorage.setItem(KEY, given);
  admission.set('open');
}

export function forget(): void {
  token = undefined;
  sessionStorage.removeItem(KEY);
  admission.set('needed');
}

/** A call was refused for its credentials: those that it was made with. */
export function refused(usedToken: string | undefined): void {
  // A call that was under way when the right token came says nothing about that one.
  if (usedToken !== token) return;
  admission.set(usedToken === undefined ? 'needed' : 'wrong');
}
