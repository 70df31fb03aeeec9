/** `setTimeout` and `clearTimeout` as durable timers. Numbers of timers belong to the run, so replay gives the same. */
import { currentRuntime, type WorkflowRuntime } from '../../../sdk/runtime.js';
import { CancellationScope } from '../../../sdk/scope.js';
import { sleep } from '../../../sdk/waiting.js';

interface Timeouts {
  lastId: number;
  pending: Map<number, CancellationScope>;
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
      const id = ++run.lastId;
      const scope = new CancellationScope();
      run.pending.set(id, scope);
      const ms = Number(delayMs);
      scope
        .run(() => sleep(ms > 0 ? ms : 1))
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
      timeouts('clearTimeout()').pending.get(id)?.cancel();
    },
  };
}
