/** The storage that carries a run's current scope over awaits. */
import type { Scope, ScopeStorage } from '../../../sdk/runtime.js';
import { ask } from './borrowed.js';

/** An AsyncLocalStorage of the process around the sandbox. */
export interface HostStorage {
  getStore(): unknown;
  run<T>(store: unknown, fn: () => T): T;
}

/** Carrying the scope over awaits makes every promise a little slower, so it begins with the first scope of a process. */
export function lazyScopes(storage: HostStorage): ScopeStorage {
  let used = false;
  return {
    getStore: () => (used ? ask(() => storage.getStore() as Scope | undefined) : undefined),
    run(scope, fn) {
      used = true;
      return ask(() => storage.run(scope, fn));
    },
  };
}
