/**
 * `setTimeout` and `clearTimeout` as durable timers. Numbers of timers belong to the run, so replay gives the same.
 *
 * A callback cannot be told that its scope is cancelled, and code that waits for it would wait forever: it is called when
 * it is due. Timers of older runs were cancelled, and replay so: the first cancellation of a run that this makes a
 * difference to is marked in the history.
 */
import { toMs } from '../../../core/values/duration.js';
import { CancelledError } from '../../../sdk/errors.js';
import { type Cancel, currentRuntime, type WorkflowRuntime } from '../../../sdk/runtime.js';
import { CancellationScope } from '../../../sdk/scope.js';

const OUTLIVES_SCOPES = 'perdure.timeoutsOutliveScopes';

interface Timeouts {
  lastId: number;
  /** How each is cleared that is not due yet. */
  pending: Map<number, () => void>;
}
const ofRun = new WeakMap<WorkflowRuntime, Timeouts>();

function timeouts(what: string): Timeouts {
  const runtime = currentRuntime(what);
  runtime.assertMayAct(what);
  let found = ofRun.get(runtime);
  if (!found) {
    found = { lastId: 0, pending: new Map() };
    ofRun.set(runtime, found);
  }
  return found;
}

/** `fail` takes the error of a callback, which has no caller. */
export function timerGlobals(fail: (error: unknown) => void): Record<string, unknown> {
  return {
    setTimeout(callback: (...args: unknown[]) => void, delayMs?: unknown, ...args: unknown[]): number {
      const run = timeouts('setTimeout()');
      const delay = Number(delayMs);
      const durationMs = toMs(delay > 0 ? delay : 1, 'setTimeout()');
      const id = ++run.lastId;
      waitUntilDue(durationMs, (clear) => run.pending.set(id, clear))
        .then(
          () => {
            run.pending.delete(id);
            callback(...args);
          },
          () => run.pending.delete(id),
        )
        .catch(fail);
      return id;
    },
    clearTimeout(id: number): void {
      timeouts('clearTimeout()').pending.get(id)?.();
    },
  };
}

/** Rejects when it is cleared. */
function waitUntilDue(durationMs: number, clearable: (clear: () => void) => void): Promise<void> {
  const runtime = currentRuntime('setTimeout()');
  const scope = new CancellationScope();
  const outlivesScopes = () => runtime.patched(OUTLIVES_SCOPES, false);
  return scope.run(async () => {
    if (scope.cancellation && !outlivesScopes()) throw scope.cancellation;
    let cancel: Cancel | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const stop = runtime.startTimer(durationMs, { resolve, reject });
        clearable(() => stop(CLEARED));
        cancel = (cancellation) => {
          if (!outlivesScopes()) stop(cancellation);
        };
        scope.addOperation(cancel);
      });
    } finally {
      if (cancel) scope.removeOperation(cancel);
    }
  });
}

const CLEARED = new CancelledError();
