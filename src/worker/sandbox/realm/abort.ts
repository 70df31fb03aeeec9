/** `AbortController` for code that expects one. It is all in here: nothing outside the workflow ever aborts it. */

let abort: (signal: AbortSignal, reason: unknown) => void;

type Listener = ((event: object) => void) | { handleEvent(event: object): void };

/** No name leads to it. */
export class AbortSignal {
  #aborted = false;
  #reason: unknown;
  readonly #listeners = new Map<Listener, { once: boolean }>();
  onabort: ((event: object) => void) | null = null;

  static {
    abort = (signal, reason) => signal.#abort(reason);
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(type: string, listener: Listener | null, options?: boolean | { once?: boolean }): void {
    if (type !== 'abort' || !listener || this.#listeners.has(listener)) return;
    this.#listeners.set(listener, { once: typeof options === 'object' && options.once === true });
  }

  removeEventListener(type: string, listener: Listener | null): void {
    if (type === 'abort' && listener) this.#listeners.delete(listener);
  }

  #abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason === undefined ? abortError() : reason;
    const event = { type: 'abort', target: this, currentTarget: this };
    this.onabort?.(event);
    for (const [listener, { once }] of [...this.#listeners]) {
      if (once) this.#listeners.delete(listener);
      if (typeof listener === 'function') listener.call(this, event);
      else listener.handleEvent(event);
    }
  }
}

class AbortController {
  readonly #signal = new AbortSignal();

  get signal(): AbortSignal {
    return this.#signal;
  }

  abort(reason?: unknown): void {
    abort(this.#signal, reason);
  }
}

function abortError(): Error {
  const error = new Error('This operation was aborted');
  Object.defineProperty(error, 'name', { value: 'AbortError', writable: true, configurable: true });
  return Object.assign(error, { code: 20 });
}

export const abortGlobals = (): Record<string, unknown> => ({ AbortController });
