/**
 * Runs inside the sandbox's context: the entry of the bundle that holds the SDK, zod and the replay machinery.
 * `host.ts` evaluates it once per process and talks to what `start` gives.
 */

import type { Failure } from '../../core/history/failure.js';
import type { CallbackRef } from '../../core/run/callback.js';
import type { TurnTask } from '../../core/task.js';
import type { LogLevel } from '../../sdk/runtime.js';
import { CONTEXT_INFO, ContinueAsNew } from '../../sdk/workflow.js';
import type { LibraryBundle, WorkflowBundle } from '../loading/bundle.js';
import { harden, installGlobals } from './environment.js';
import { ask, type HostGlobals } from './realm/borrowed.js';
import { type Compile, LoadError, Modules } from './realm/modules.js';
import { type HostStorage, lazyScopes } from './realm/scopes.js';
import { hardenZod, ZOD_OBJECTS } from './realm/zod.js';
import { RejectionTracker } from './rejections.js';
import { failureOf, type StackReader } from './run/failures.js';
import { HISTORY_LENGTH } from './run/run.js';
import { RunCache } from './run/run-cache.js';
import { type ReplayedRun, type TurnAnswer, TurnRunner } from './turns.js';

/** What the process around the context gives to it. */
export interface HostBridge {
  workflows: WorkflowBundle[];
  library: LibraryBundle | undefined;
  cacheSize: number;
  globals: HostGlobals;
  compile: Compile;
  drain(): void;
  stacks: StackReader;
  scopes: HostStorage;
  callbackUrl(callback: CallbackRef): string;
  log(level: LogLevel, fields: object, message: string): void;
  /** A recorded turn has been replayed. */
  replayed(): void;
}

export interface Inside {
  /** Called while the hooks below are installed. */
  runTurn(task: TurnTask): TurnAnswer;
  promiseHooks: {
    init(promise: unknown, parent: unknown): void;
    settled(promise: unknown): void;
  };
  check(): { filename: string; failure: Failure }[];
  isAt(runId: string, eventId: number): boolean;
  forget(runId: string): void;
  forgetAll(): void;
  takeEvicted(): string[];
}

/** Of what every run is given, what all of them share and no name leads to. */
const GIVEN_TO_RUNS = [ContinueAsNew, CONTEXT_INFO.getter, HISTORY_LENGTH.getter];

export function start(bridge: HostBridge): Inside {
  installGlobals(bridge.globals);
  const modules = new Modules(bridge.compile, bridge.library);
  harden([...modules.shared, ...GIVEN_TO_RUNS, ...hardenZod()], ZOD_OBJECTS);
  for (const bundle of bridge.workflows) modules.add(bundle);
  const cache = new RunCache<ReplayedRun>(bridge.cacheSize);
  const rejections = new RejectionTracker();
  const host = {
    drain() {
      rejections.beforeJobs();
      bridge.drain();
    },
    endTurn: () => rejections.endTurn(),
    callbackUrl: (callback: CallbackRef) => ask(() => bridge.callbackUrl(callback)),
    log: (level: LogLevel, fields: object, message: string) => ask(() => bridge.log(level, fields, message)),
    replayed: bridge.replayed,
    stacks: bridge.stacks,
    scopes: lazyScopes(bridge.scopes),
  };
  const turns = new TurnRunner(modules, host, cache);
  return {
    runTurn(task) {
      rejections.reset();
      return turns.runTurn(task);
    },
    promiseHooks: { init: rejections.onInit, settled: rejections.onSettled },
    check: () =>
      bridge.workflows.flatMap(({ workflowType, filename }) => {
        try {
          modules.definition(workflowType);
          return [];
        } catch (error) {
          return [
            { filename, failure: failureOf(error instanceof LoadError ? error.cause : error, bridge.stacks) },
          ];
        }
      }),
    isAt(runId, eventId) {
      const cached = cache.peek(runId);
      return cached?.reader.nextEventId === eventId && !cached.run.isTainted;
    },
    forget: (runId) => cache.forget(runId),
    forgetAll: () => cache.forgetAll(),
    takeEvicted: () => cache.takeEvicted(),
  };
}
