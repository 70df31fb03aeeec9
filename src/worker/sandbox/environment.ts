/**
 * The globals that workflow code sees.
 *
 * 1. What would differ on replay is deterministic (time, random numbers, timers) or refuses to be used.
 * 2. After `harden` no run can change what another one sees: the global object is frozen, and so are the built-ins,
 *    except where freezing would break ordinary code (a property that shadows an inherited one).
 *
 * This keeps honest code deterministic and runs apart. It is no security boundary: code of workflows is as trusted as
 * the deployment that holds it.
 */
import { DeterminismError } from '../../sdk/errors.js';
import { log, uuidFrom } from '../../sdk/info.js';
import { currentRuntime, hasRuntime } from '../../sdk/runtime.js';
import { borrowedGlobals, type HostGlobals } from './borrowed.js';
import { randomSequence } from './random.js';
import { REFUSED_FUNCTIONS, refusal } from './refusals.js';
import type { Run } from './run.js';
import { timerGlobals } from './timers.js';

const hidden = { writable: true, configurable: true, enumerable: false };

export function installGlobals(host: HostGlobals): void {
  const shared = { ...borrowedGlobals(host), ...timerGlobals(failRun) };
  for (const [name, value] of Object.entries(shared)) if (!isFixed(name)) define(name, value);
  for (const [name, remedy] of Object.entries(REFUSED_FUNCTIONS)) define(name, refusing(name, remedy));
  define('Date', deterministicDate());
  // A library that asks while it is loaded gets the same answer in every worker.
  const outsideRuns = randomSequence('libraries');
  const random = () => (hasRuntime() ? currentRuntime('Math.random()').random() : outsideRuns());
  Object.defineProperty(Math, 'random', { value: random, ...hidden });
  define('crypto', deterministicCrypto(random));
  define('console', workflowConsole());
  define('queueMicrotask', (fn: () => void) => void Promise.resolve().then(fn).catch(failRun));
  Object.defineProperty(Atomics, 'wait', {
    value: refusing('Atomics.wait', 'use condition() or sleep()'),
    ...hidden,
  });
  for (const name of ['WebAssembly', 'eval'] as const) Reflect.deleteProperty(globalThis, name);
}

/** Whether the sandbox has brought its own, which cannot be replaced. */
function isFixed(name: string): boolean {
  return Object.getOwnPropertyDescriptor(globalThis, name)?.configurable === false;
}

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, ...hidden });
}

/** A function that may also be used with `new`, and throws either way. */
function refusing(name: string, remedy: string): () => never {
  return function refused(): never {
    throw new DeterminismError(refusal(name, remedy));
  };
}

function deterministicDate(): DateConstructor {
  const RealDate = Date;
  const now = () => (hasRuntime() ? currentRuntime('Date').now() : 0);
  function WorkflowDate(this: unknown, ...args: unknown[]): unknown {
    if (!new.target) return new RealDate(now()).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [now()] : args, new.target);
  }
  Object.defineProperties(WorkflowDate, {
    name: { value: 'Date' },
    length: { value: 7 },
    prototype: { value: RealDate.prototype, writable: false },
    now: { value: now, ...hidden },
    parse: { value: RealDate.parse, ...hidden },
    UTC: { value: RealDate.UTC, ...hidden },
  });
  Object.defineProperty(RealDate.prototype, 'constructor', { value: WorkflowDate, ...hidden });
  return WorkflowDate as unknown as DateConstructor;
}

function deterministicCrypto(random: () => number): object {
  return Object.freeze({
    randomUUID: () => uuidFrom(random),
    getRandomValues<T extends ArrayBufferView>(array: T): T {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
      return array;
    },
    get subtle(): never {
      throw new DeterminismError(refusal('crypto.subtle', 'do it in a step and await that'));
    },
  });
}

function workflowConsole(): object {
  const write =
    (level: keyof typeof log) =>
    (...args: unknown[]) => {
      if (hasRuntime()) log[level](args.map(printable).join(' '));
    };
  return Object.freeze({
    log: write('info'),
    info: write('info'),
    debug: write('debug'),
    trace: write('debug'),
    warn: write('warn'),
    error: write('error'),
  });
}

function printable(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return value.stack ?? String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** An error in a callback that nobody awaits has no caller, so it ends the run. */
function failRun(error: unknown): void {
  (currentRuntime('a callback') as Run).fail(error);
}

/** Freezes what all runs share. Everything that is shared must be loaded by then. */
export function harden(): void {
  hardenBuiltIns();
  Object.freeze(globalThis);
}

/** All but the global object itself, for a sandbox that gives every run its own properties of it. */
export function hardenBuiltIns(): void {
  for (const name of BUILT_INS) {
    const builtIn = (globalThis as Record<string, unknown>)[name] as { prototype?: object };
    fixProperties(builtIn);
    if (builtIn.prototype) fixPrototype(builtIn.prototype);
  }
  // Prototypes that no global name leads to.
  for (const sample of [
    function* () {},
    async () => {},
    async function* () {},
    [][Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    ''[Symbol.iterator](),
  ]) {
    fixPrototype(Object.getPrototypeOf(sample) as object);
  }
}

/** What libraries put on the global object is theirs: they may go on changing it. */
const BUILT_INS =
  'Object Function Array Number Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set WeakMap WeakSet Proxy Reflect Atomics URL URLSearchParams TextEncoder TextDecoder AbortController'.split(
    ' ',
  );

/** Ordinary objects and errors often have properties of these names of their own, set by assignment. */
const SHADOWED: ReadonlySet<unknown> = new Set([Object.prototype, Error.prototype, Function.prototype]);
const OFTEN_ASSIGNED: ReadonlySet<string | symbol> = new Set([
  'constructor',
  'toString',
  'valueOf',
  'toJSON',
  'name',
  'message',
]);

function fixPrototype(prototype: object): void {
  const isErrorPrototype = prototype instanceof Error;
  if (!SHADOWED.has(prototype) && !isErrorPrototype) fixProperties(prototype);
  Object.preventExtensions(prototype);
}

function fixProperties(object: object): void {
  for (const key of Reflect.ownKeys(object)) {
    if (OFTEN_ASSIGNED.has(key)) continue;
    const descriptor = Object.getOwnPropertyDescriptor(object, key)!;
    if (!descriptor.configurable || typeof descriptor.value !== 'function') continue;
    Object.defineProperty(object, key, { writable: false, configurable: false });
  }
  Object.preventExtensions(object);
}
