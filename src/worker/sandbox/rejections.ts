/**
 * Finds promises of a run that were rejected and that nobody handles, such as a step that was called without `await`.
 *
 * The process around the sandbox learns of them too late (its turn is answered by then) and cannot tell whose they
 * are. So while a turn runs, V8's promise hooks say which promises settle and which have somebody who listens. At the
 * end of the turn, those without a listener get one from here: it hears of the rejection, if it was one.
 */

const HANDLED = Symbol('handled');
type Tracked = Promise<unknown> & { [HANDLED]?: boolean };

export class UnhandledRejectionError extends Error {
  override readonly name = 'UnhandledRejectionError';
  constructor(reason: unknown) {
    const what = reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
    super(
      `a promise was rejected and nobody handles it, such as a step that is called without await: ${what}`,
      {
        cause: reason,
      },
    );
  }
}

export class RejectionTracker {
  #settled: Tracked[] = [];
  #rejected: { promise: Tracked; reason: unknown }[] = [];
  #listening = false;
  #newest: unknown;
  /** The parent of the newest promise, when that was the first to listen to it. */
  #newlyHandled: Tracked | undefined;
  readonly #drain: () => void;

  constructor(drain: () => void) {
    this.#drain = drain;
  }

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

  /** Runs all promise jobs. What happens in them is never taken for a part of what happened before. */
  readonly drain = (): void => {
    this.#newest = undefined;
    this.#drain();
  };

  /** Ends a turn. @throws UnhandledRejectionError when a promise was rejected in it and nobody handles that */
  endTurn(): void {
    const unheard = this.#settled.filter((promise) => !promise[HANDLED]);
    this.#settled = [];
    if (unheard.length > 0) {
      this.#listening = true;
      for (const promise of unheard) this.#listen(promise);
      this.#listening = false;
      this.drain();
      this.#settled = [];
    }
    if (this.#rejected.length === 0) return;
    const unhandled = this.#rejected.find(({ promise }) => !promise[HANDLED]);
    this.#rejected = [];
    if (unhandled) throw new UnhandledRejectionError(unhandled.reason);
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
