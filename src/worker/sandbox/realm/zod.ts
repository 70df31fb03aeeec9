/**
 * zod is evaluated once for all runs, and holds two things that code may change: its configuration and the registry of
 * what is said about schemas. Each run has its own of both, on top of what is shared.
 */
import * as z from 'zod';
import { currentRuntime, hasRuntime, type WorkflowRuntime } from '../../../sdk/runtime.js';

/** What must not be frozen by a walk: zod completes its classes when they are first used. */
export const ZOD_OBJECTS: ReadonlySet<unknown> = new Set(namespaces(z));

/** Answers with what is to be frozen with the rest of what runs share. */
export function hardenZod(): unknown[] {
  ownConfiguration();
  ownRegistry();
  for (const namespace of ZOD_OBJECTS) {
    for (const value of Object.values(namespace as object))
      if (typeof value === 'function') Object.freeze(value);
    Object.freeze(namespace);
  }
  return [z.config(), z.globalRegistry];
}

function ownConfiguration(): void {
  const config = z.config() as Record<string, unknown>;
  const keys = new Set([
    ...Object.keys(config),
    'customError',
    'localeError',
    'memoizer',
    'jitless',
    'postProcessor',
  ]);
  for (const key of keys) {
    const shared = config[key];
    const own = perRun(() => ({ value: shared }));
    Object.defineProperty(config, key, {
      enumerable: true,
      get: () => own.get()?.value ?? shared,
      set(value: unknown) {
        own.getOrMake().value = value;
      },
    });
  }
}

function ownRegistry(): void {
  const registry = z.globalRegistry as unknown as {
    _map: WeakMap<object, unknown>;
    _idmap: Map<unknown, unknown>;
  };
  const { _map, _idmap } = registry;
  const metadata = perRun(() => ({ value: new Layered(_map) as WeakMap<object, unknown> }));
  const ids = perRun(() => ({ value: new Map(_idmap) }));
  Object.defineProperties(registry, {
    _map: ownProperty(metadata, _map),
    _idmap: ownProperty(ids, _idmap),
  });
}

const ownProperty = <T>(own: PerRun<{ value: T }>, shared: T): PropertyDescriptor => ({
  get: () => (hasRuntime() ? own.getOrMake().value : shared),
  set(value: T) {
    own.getOrMake().value = value;
  },
});

/** What a run adds hides what is shared. */
class Layered extends WeakMap<object, unknown> {
  readonly #below: WeakMap<object, unknown>;
  constructor(below: WeakMap<object, unknown>) {
    super();
    this.#below = below;
  }
  override get(key: object): unknown {
    return super.has(key) ? super.get(key) : this.#below.get(key);
  }
  override has(key: object): boolean {
    return super.has(key) || this.#below.has(key);
  }
}

interface PerRun<T> {
  get(): T | undefined;
  getOrMake(): T;
}

function perRun<T>(make: () => T): PerRun<T> {
  const ofRun = new WeakMap<WorkflowRuntime, T>();
  return {
    get: () => (hasRuntime() ? ofRun.get(currentRuntime('zod')) : undefined),
    getOrMake() {
      // Outside of runs files are only tried.
      if (!hasRuntime()) return make();
      const runtime = currentRuntime('zod');
      let own = ofRun.get(runtime);
      if (!own) {
        own = make();
        ofRun.set(runtime, own);
      }
      return own;
    },
  };
}

/** zod's names, and those of the modules that it exports as a whole: objects with nothing but getters. */
function* namespaces(root: object): Generator<object> {
  const found = new Set<object>([root]);
  for (const namespace of found) {
    yield namespace;
    for (const value of Object.values(namespace) as unknown[]) {
      if (typeof value !== 'object' || value === null) continue;
      const properties = Object.values(Object.getOwnPropertyDescriptors(value));
      if (properties.length > 0 && properties.every(({ get }) => get)) found.add(value);
    }
  }
}
