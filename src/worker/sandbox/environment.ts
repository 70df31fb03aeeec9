/**
 * The globals that workflow code sees.
 *
 * 1. What would differ on replay is deterministic (time, random numbers, timers) or refuses to be used.
 * 2. After `harden` no run can change what another one sees: the global object is frozen, and so is all that it leads to.
 *
 * This keeps honest code deterministic and runs apart. It is no security boundary: code of workflows is as trusted as
 * the deployment that holds it.
 */
import { toFailure } from '../../core/history/failure.js';
import { DeterminismError } from '../../sdk/errors.js';
import { log, uuidFrom } from '../../sdk/info.js';
import { currentRuntime, hasRuntime } from '../../sdk/runtime.js';
import { AbortSignal } from './realm/abort.js';
import { borrowedGlobals, type HostGlobals } from './realm/borrowed.js';
import { withoutImports } from './realm/code-texts.js';
import { deterministicDate } from './realm/date.js';
import { hardenIntrinsics } from './realm/intrinsics.js';
import { fixLocale } from './realm/locale.js';
import { randomSequence } from './realm/random.js';
import { REFUSED_FUNCTIONS, refusal } from './realm/refusals.js';
import { timerGlobals } from './realm/timers.js';
import type { Run } from './run/run.js';

const hidden = { writable: true, configurable: true, enumerable: false };

/** Answers with what could not be put on the global object, since the sandbox has brought its own there. */
export function installGlobals(host: HostGlobals): Record<string, unknown> {
  const shared = { ...borrowedGlobals(host), ...timerGlobals(failRun) };
  const shadows: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(shared)) {
    if (isFixed(name)) shadows[name] = value;
    else define(name, value);
  }
  for (const [name, remedy] of Object.entries(REFUSED_FUNCTIONS)) define(name, refusing(name, remedy));
  const now = () => (hasRuntime() ? currentRuntime('Date').now() : 0);
  fixLocale(now);
  define('Date', deterministicDate(now));
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
  Reflect.deleteProperty(globalThis, 'WebAssembly');
  withoutImports();
  return shadows;
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
  try {
    if (value instanceof Error) return value.stack ?? String(value);
    return JSON.stringify(value) ?? String(value);
  } catch {
    return toFailure(value).message;
  }
}

/** An error in a callback that nobody awaits has no caller, so it ends the run. */
function failRun(error: unknown): void {
  (currentRuntime('a callback') as Run).fail(error);
}

/** Freezes what all runs share. Everything that is shared must be loaded by then; `shared` is what no global leads to. */
export function harden(shared: unknown[], except: ReadonlySet<unknown>): void {
  hardenBuiltIns(shared, except);
  Object.freeze(globalThis);
}

/** All but the global object itself, for a sandbox that gives every run its own properties of it. */
export function hardenBuiltIns(shared: unknown[], except: ReadonlySet<unknown>): void {
  const globals = Object.entries(Object.getOwnPropertyDescriptors(globalThis));
  // What belongs to the machinery of a sandbox is marked so, and goes on changing.
  const builtIns = globals.filter(([name]) => !name.startsWith('__'));
  const roots = builtIns.flatMap(([, { value, get, set }]) => [value, get, set]);
  hardenIntrinsics([...roots, Object.getPrototypeOf(globalThis), AbortSignal, ...shared], except);
}
