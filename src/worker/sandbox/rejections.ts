/**
 * Finds promises of a run that were rejected and that nobody handles, such as an async function called without `await`.
 *
 * The process around the sandbox learns of them too late (its turn is answered by then) and cannot tell whose they
 * are. So while a turn runs, V8's promise hooks say which promises settle and which have somebody who listens. At the
 * end of the turn, those without a listener get one from here: it hears of the rejection, if it was one.
 */
import type { Pieces } from './run/run.js';

const HANDLED = Symbol('handled');
type Tracked = Promise<unknown> & { [HANDLED]?: boolean };

export class RejectionTracker {
  #settled: Tracked[] = [];
  #rejected: { promise: Tracked; reason: unknown }[] = [];
  #listening = false;
  #newest: unknown;
  /** The parent of the newest promise, when that was the first to listen to it. */
  #newlyHandled: Tracked | undefined;

  /** To be called by V8 for every promise that comes to be; one with a parent listens to that parent. */
  readonly onInit = (promise: unknown, parent: unknown): void => {
    this.#newest = promise;
    this.#newlyHandled = undefined;
    if (parent === undefined || this.#listening) return;
    const handled = parent as Tracked;
    if (handled[HANDLED]) return;
    try {
      handled[HANDLED] = true;
      this.#newlyHandled = handled;
    } catch {
      // Somebody froze a promise: it stays unmarked, and only matters if it is rejected.
    }
  };

  /** To be called by V8 for every promise that is resolved or rejected. */
  readonly onSettled = (promise: unknown): void => {
    // `await` of a plain value wraps it in a promise that is settled at once, and names the async function's own
    // promise as its parent. That is no listener.
    if (promise === this.#newest && this.#newlyHandled) this.#newlyHandled[HANDLED] = false;
    this.#newest = undefined;
    this.#settled.push(promise as Tracked);
  };

  /** Promise jobs run next: what happens in them is never taken for a part of what happened before. */
  beforeJobs(): void {
    this.#newest = undefined;
  }

  /** Ends a turn: what the promises that were rejected in it, and that nobody handles, were rejected with. */
  *endTurn(): Pieces<unknown[]> {
    const unheard = this.#settled.filter((promise) => !promise[HANDLED]);
    this.#settled = [];
    if (unheard.length > 0) {
      this.#listening = true;
      for (const promise of unheard) this.#listen(promise);
      this.#listening = false;
      yield;
      this.#settled = [];
    }
    if (this.#rejected.length === 0) return this.#rejected;
    const unhandled = this.#rejected.filter(({ promise }) => !promise[HANDLED]);
    this.#rejected = [];
    return unhandled.map(({ reason }) => reason);
  }

  /** Drops what a turn left behind that did not come to its end. */
  reset(): void {
    this.#settled = [];
    this.#rejected = [];
  }

  #listen(promise: Tracked): void {
    then.call(promise, undefined, (reason: unknown) => {
      this.#rejected.push({ promise, reason });
    });
  }
}

const { then } = Promise.prototype;
