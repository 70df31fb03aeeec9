/**
 * Cancellation scopes: a tree of scopes along which cancellation travels downwards.
 *
 * 1. The root scope of a run is cancelled when the run is asked to stop.
 * 2. Cancelling a cancellable scope cancels the operations that were started in it and, in the same instant, its
 *    child scopes. A scope that is not cancellable learns of the request (`cancelRequested`) and shields what is inside.
 * 3. An operation that is started in a scope which is already cancelled rejects without being started.
 * 4. What a scope's function leaves under way when it ends is cancelled with the parents all the same. Runs from before
 *    this held replay without it: the first cancellation of a run that it makes a difference to is marked in the history.
 */
import { type Duration, toMs } from '../core/values/duration.js';
import { CancelledError } from './errors.js';
import { checkOptions } from './options.js';
import { type Cancel, currentRuntime, type Settle } from './runtime.js';

/** See 4. */
const REACHES_WHAT_IS_LEFT = 'perdure.leftScopes';

export interface CancellationScopeOptions {
  /** False shields the scope from the cancellation of its parents. Default true. */
  cancellable?: boolean;
  /** The scope is cancelled after this time. */
  timeout?: Duration;
  /** The current scope when absent; null makes a root. */
  parent?: CancellationScope | null;
}

export class CancellationScope {
  readonly cancellable: boolean;
  readonly parent: CancellationScope | undefined;
  readonly timeoutMs: number | undefined;
  #cancellation: CancelledError | undefined;
  #requested: { promise: Promise<never>; reject: (error: CancelledError) => void } | undefined;
  /** Those of which anything is under way, or may be soon. */
  readonly #children = new Set<CancellationScope>();
  readonly #operations = new Set<Cancel>();
  #running = 0;
  /** A function that ran in it has ended, and none has begun since. */
  #isLeft = false;

  constructor(options: CancellationScopeOptions = {}) {
    const what = 'new CancellationScope()';
    checkOptions(what, options, ['cancellable', 'timeout', 'parent']);
    if (options.parent !== null) currentRuntime(what).assertMayAct(what);
    this.cancellable = options.cancellable ?? true;
    this.timeoutMs = options.timeout === undefined ? undefined : toMs(options.timeout, 'timeout of a scope');
    this.parent = options.parent === null ? undefined : (options.parent ?? currentScope(what));
    this.attach();
  }

  /** The scope that the calling code runs in. */
  static current(): CancellationScope {
    return currentScope('CancellationScope.current()');
  }

  /** Runs `fn` in a scope of its own, which is cancelled with its parent. */
  static cancellable<T>(fn: () => Promise<T>): Promise<T> {
    return new CancellationScope({ cancellable: true }).run(fn);
  }

  /** Runs `fn` shielded from cancellation: for cleanup that must run to its end. */
  static nonCancellable<T>(fn: () => Promise<T>): Promise<T> {
    return new CancellationScope({ cancellable: false }).run(fn);
  }

  /** Runs `fn` and cancels what it has under way after `timeout`. */
  static withTimeout<T>(timeout: Duration, fn: () => Promise<T>): Promise<T> {
    return new CancellationScope({ cancellable: true, timeout }).run(fn);
  }

  /** Whether operations of this scope are refused. */
  get consideredCancelled(): boolean {
    return this.cancellable && this.#cancellation !== undefined;
  }

  /** Rejects when cancellation is requested, whether or not the scope is cancellable. */
  get cancelRequested(): Promise<never> {
    if (!this.#requested) {
      let reject!: (error: CancelledError) => void;
      const promise = new Promise<never>((_, rejectPromise) => {
        reject = rejectPromise;
      });
      // Nobody has to listen to it.
      promise.catch(() => {});
      this.#requested = { promise, reject };
      this.attach();
      if (this.#cancellation) reject(this.#cancellation);
    }
    return this.#requested.promise;
  }

  run<T>(fn: () => Promise<T>): Promise<T> {
    const runtime = currentRuntime('CancellationScope.run()');
    runtime.assertMayAct('CancellationScope.run()');
    this.#isLeft = false;
    this.attach();
    return runtime.scopes.run(this, () => this.#runInside(fn));
  }

  async #runInside<T>(fn: () => Promise<T>): Promise<T> {
    const stopTimer = this.timeoutMs === undefined ? undefined : this.#startTimeout(this.timeoutMs);
    this.#running++;
    try {
      return await fn();
    } finally {
      stopTimer?.();
      this.#running--;
      this.#isLeft = true;
      this.#detachIdle();
    }
  }

  cancel(): void {
    currentRuntime('CancellationScope.cancel()').assertMayAct('CancellationScope.cancel()');
    this.#request(new CancelledError());
  }

  /** The error that operations of this scope reject with, once it is cancelled. */
  get cancellation(): CancelledError | undefined {
    return this.cancellable ? this.#cancellation : undefined;
  }

  addOperation(cancel: Cancel): void {
    this.#operations.add(cancel);
  }

  removeOperation(cancel: Cancel): void {
    this.#operations.delete(cancel);
    this.#detachIdle();
  }

  /** From now on it is cancelled with its parent, at once where that is cancelled already. */
  attach(): void {
    const { parent } = this;
    if (!parent) return;
    if (!parent.#children.has(this)) {
      parent.attach();
      parent.#children.add(this);
    }
    const { cancellation } = parent;
    if (cancellation && !this.#cancellation && this.#isReached()) this.#request(cancellation);
  }

  /** A workflow may make any number of scopes: those that nothing is left of are not kept. */
  #detachIdle(): void {
    const { parent } = this;
    const isUsed = this.#running > 0 || this.#operations.size > 0 || this.#children.size > 0;
    if (!parent || isUsed || !this.#isLeft || this.#requested) return;
    parent.#children.delete(this);
    parent.#detachIdle();
  }

  #isReached(): boolean {
    return !this.#isLeft || currentRuntime('CancellationScope').patched(REACHES_WHAT_IS_LEFT, false);
  }

  #startTimeout(timeoutMs: number): () => void {
    const stop = currentRuntime('CancellationScope.withTimeout()').startTimer(Math.max(1, timeoutMs), {
      resolve: () => this.cancel(),
      reject() {},
    });
    return () => stop(new CancelledError());
  }

  #request(cancellation: CancelledError): void {
    if (this.#cancellation) return;
    this.#cancellation = cancellation;
    this.#requested?.reject(cancellation);
    if (!this.cancellable) return;
    for (const cancel of [...this.#operations]) cancel(cancellation);
    for (const child of [...this.#children]) if (child.#isReached()) child.#request(cancellation);
  }
}

function currentScope(what: string): CancellationScope {
  const runtime = currentRuntime(what);
  return (runtime.scopes.getStore() ?? runtime.rootScope) as CancellationScope;
}

/**
 * Starts an operation in the current scope and gives its promise. Cancelling the scope calls the operation's cancel;
 * the operation itself decides when that settles it.
 */
export function inCurrentScope<T>(what: string, start: (settle: Settle<T>) => Cancel): Promise<T> {
  currentRuntime(what).assertMayAct(what);
  const scope = currentScope(what);
  scope.attach();
  if (scope.cancellation) return awaitedLater(Promise.reject(scope.cancellation));
  const operation = new Promise<T>((resolve, reject) => {
    let settled = false;
    let cancel: Cancel | undefined;
    const done = () => {
      settled = true;
      if (cancel) scope.removeOperation(cancel);
    };
    cancel = start({
      resolve(value) {
        done();
        resolve(value);
      },
      reject(error) {
        done();
        reject(error);
      },
    });
    if (!settled) scope.addOperation(cancel);
  });
  return awaitedLater(operation);
}

/**
 * Two operations that are started together and awaited one after the other are ordinary code, so one that fails
 * before its turn has come is no unhandled rejection.
 */
function awaitedLater<T>(operation: Promise<T>): Promise<T> {
  operation.then(undefined, () => {});
  return operation;
}
