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

/** What Temporal's worker keeps for all runs of its thread; as much of it as is used here. */
interface GlobalHandlers {
  stopPromiseHook(): void;
  promiseHookInstalled: boolean;
}

/** Where it is. */
const GLOBAL_HANDLERS = /[\\/]@temporalio[\\/]worker[\\/]lib[\\/]workflow[\\/]vm-shared\.js$/;

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
    takeNoStacksOfPromises(thread);
  }

  /** Answers with how to stop them. */
  hookPromises(hooks: PromiseHooks): () => void {
    return this.#v8.promiseHooks.createHook(hooks) as unknown as () => void;
  }
}

/**
 * Temporal's worker takes down a stack for every promise that comes to be, for a query of its own that tells where the code of a
 * run waits: half of what turns take. It has no option for that, and refuses the query where it could not begin with it.
 */
function takeNoStacksOfPromises({ process }: typeof globalThis): void {
  const { _cache: loaded } = process.getBuiltinModule('node:module') as unknown as {
    _cache: Record<string, { exports: { globalHandlers?: GlobalHandlers } }>;
  };
  const file = Object.keys(loaded).find((name) => GLOBAL_HANDLERS.test(name));
  const handlers = file === undefined ? undefined : loaded[file]!.exports.globalHandlers;
  if (!handlers?.promiseHookInstalled) return;
  handlers.stopPromiseHook();
  handlers.promiseHookInstalled = false;
}
