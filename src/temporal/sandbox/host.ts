/**
 * What the sandbox takes from the thread around it.
 *
 * Temporal gives its workflows one class of that thread, AsyncLocalStorage, and through it the rest can be reached:
 * plain functions that JavaScript itself lacks, and V8's promise hooks, without which nobody would learn in time of a
 * promise that was rejected and that nobody handles. The embedded sandbox is handed the same by its own host.
 */
import { type TokenTools, tokenTools } from '../../core/run/callback.js';
import type { HostGlobals } from '../../worker/sandbox/realm/borrowed.js';
import type { HostStorage } from '../../worker/sandbox/realm/scopes.js';

declare const AsyncLocalStorage: new () => HostStorage;

export interface PromiseHooks {
  init(promise: unknown, parent: unknown): void;
  settled(promise: unknown): void;
}

export class Host {
  readonly scopes: HostStorage = new AsyncLocalStorage();
  readonly globals: HostGlobals;
  /** For addresses of callbacks. */
  readonly tokenTools: TokenTools;
  readonly #v8: typeof import('node:v8');

  constructor() {
    const thread = (AsyncLocalStorage.constructor as FunctionConstructor)(
      'return globalThis',
    )() as typeof globalThis;
    const { URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa } = thread;
    this.globals = { URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa };
    this.#v8 = thread.process.getBuiltinModule('node:v8');
    this.tokenTools = tokenTools(thread.process.getBuiltinModule('node:crypto'), thread.Buffer);
  }

  /** Answers with how to stop them. */
  hookPromises(hooks: PromiseHooks): () => void {
    return this.#v8.promiseHooks.createHook(hooks) as unknown as () => void;
  }
}
