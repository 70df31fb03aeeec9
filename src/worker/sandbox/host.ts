/**
 * The workflow sandbox, seen from the worker: one context for the code of all workflows of this process.
 *
 * 1. A turn is synchronous. The context has a microtask queue of its own which only `drain` empties, so all that a turn
 *    sets in motion has happened when `runTurn` returns, and nothing of it happens later.
 * 2. Only plain data crosses: tasks in, answers out. Values of users cross as JSON text and are read inside.
 * 3. The context's global object is an ordinary one (`DONT_CONTEXTIFY`), which can be frozen and makes looking up a
 *    global as cheap as anywhere else.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promiseHooks } from 'node:v8';
import vm from 'node:vm';
import type { Failure } from '../../core/history/failure.js';
import type { Log } from '../../core/log.js';
import type { CallbackRef } from '../../core/run/callback.js';
import type { TurnTask } from '../../core/task.js';
import type { LibraryBundle, WorkflowBundle } from '../loading/bundle.js';
import type { HostBridge, Inside } from './main.js';
import type { StackReader } from './run/failures.js';
import type { TurnAnswer } from './turns.js';

export interface SandboxOptions {
  workflows: WorkflowBundle[];
  library?: LibraryBundle;
  /** Runs that are kept between turns; 0 replays every turn from its first event. */
  cacheSize: number;
  /** Finds the author's line in a stack trace. */
  stacks?: StackReader;
  /** Where outsiders post for a callback; without it there are no callbacks. */
  callbackUrl?(callback: CallbackRef): string;
  log: Log;
  /** Called for every recorded turn that has been replayed. */
  onReplayed?(): void;
}

const NO_PLACES: StackReader = { innermost: () => undefined };

function noCallbacks(): never {
  throw new Error('there is no server here that an outsider could call back');
}

export interface Sandbox {
  /** Evaluates the files of every workflow once, as a run would; what went wrong, by file. */
  check(): { filename: string; failure: Failure }[];
  runTurn(task: TurnTask): TurnAnswer;
  /** Whether the run is cached and lacks the history from this event on. */
  isAt(runId: string, eventId: number): boolean;
  forget(runId: string): void;
  forgetAll(): void;
  /** The runs that left the cache since this was asked last. */
  takeEvicted(): string[];
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { workflows, library, cacheSize, log } = options;
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    name: 'workflows',
    microtaskMode: 'afterEvaluate',
  });
  const nothing = new vm.Script('0');
  const bridge: HostBridge = {
    workflows,
    library,
    cacheSize,
    globals: { URL, URLSearchParams, TextEncoder, TextDecoder, atob, btoa },
    compile: (code, filename) =>
      vm.compileFunction(code, ['exports', 'module', 'require', 'globalThis'], {
        filename,
        parsingContext: context,
      }) as ReturnType<HostBridge['compile']>,
    // Evaluating anything in the context empties its queue of promise jobs.
    drain: () => void nothing.runInContext(context),
    scopes: new AsyncLocalStorage(),
    stacks: options.stacks ?? NO_PLACES,
    callbackUrl: options.callbackUrl ?? noCallbacks,
    log: (level, fields, message) => log[level](fields, message),
    replayed: () => options.onReplayed?.(),
  };
  const inside = startInside(context, bridge);
  return {
    runTurn(task) {
      const stopHooks = promiseHooks.createHook(inside.promiseHooks) as () => void;
      try {
        return inside.runTurn(task);
      } finally {
        stopHooks();
      }
    },
    check: inside.check,
    isAt: inside.isAt,
    forget: inside.forget,
    forgetAll: inside.forgetAll,
    takeEvicted: inside.takeEvicted,
  };
}

function startInside(context: vm.Context, bridge: HostBridge): Inside {
  const body = inside().runInContext(context) as (exports: object, module: object) => void;
  const module = { exports: {} as { start(bridge: HostBridge): Inside } };
  body(module.exports, module);
  return module.exports.start(bridge);
}

let compiled: vm.Script | undefined;

/** Compiled once per process, however many contexts are made of it. */
function inside(): vm.Script {
  if (!compiled) {
    const filename = bundlePath();
    compiled = new vm.Script(`(function (exports, module) {${readFileSync(filename, 'utf8')}\n})`, {
      filename,
    });
  }
  return compiled;
}

/** Beside this file when built; from the sources (tests) it is the one that the build made. */
function bundlePath(): string {
  const beside = fileURLToPath(new URL('./bundle.cjs', import.meta.url));
  const built = fileURLToPath(new URL('../../../dist/worker/sandbox/bundle.cjs', import.meta.url));
  const path = [beside, built].find(existsSync);
  if (path === undefined) throw new Error(`${beside} is missing: run npm run build`);
  return path;
}
