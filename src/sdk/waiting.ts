/** Waiting: for time, and for something to become true. */
import { type Duration, toMs } from '../core/values/duration.js';
import { CancelledError, UsageError } from './errors.js';
import { type Cancel, currentRuntime } from './runtime.js';
import { inCurrentScope } from './scope.js';

/** Waits durably: the run costs nothing meanwhile and survives restarts. A wait of 0 still is one turn. */
export function sleep(duration: Duration): Promise<void> {
  const durationMs = Math.max(1, toMs(duration, 'sleep()'));
  return inCurrentScope('sleep()', (settle) => currentRuntime('sleep()').startTimer(durationMs, settle));
}

/**
 * Waits until `predicate` holds. With a timeout it answers whether that happened in time; a timeout of 0 only asks
 * once. The predicate reads state of the workflow, is asked whenever something happened, and must not do anything.
 */
export function condition(predicate: () => boolean): Promise<void>;
export function condition(predicate: () => boolean, timeout: Duration | undefined): Promise<boolean>;
export function condition(predicate: () => boolean, timeout?: Duration): Promise<unknown> {
  const runtime = currentRuntime('condition()');
  if (typeof predicate !== 'function')
    throw new UsageError('condition() needs a function that says whether to go on');
  if (timeout === undefined) {
    return inCurrentScope<void>('condition()', (settle) => runtime.whenTrue(predicate, settle));
  }
  const timeoutMs = toMs(timeout, 'timeout of condition()');
  return inCurrentScope<boolean>('condition()', (settle) => {
    if (timeoutMs === 0 || predicate()) {
      settle.resolve(timeoutMs > 0 || predicate());
      return () => {};
    }
    // A predicate that is refused has no one waiting for it, and its time passes all the same.
    let stopWaiting: Cancel = () => {};
    const stopTimer = runtime.startTimer(timeoutMs, {
      resolve() {
        settle.resolve(false);
        stopWaiting(ENDED);
      },
      reject() {},
    });
    stopWaiting = runtime.whenTrue(predicate, {
      resolve() {
        settle.resolve(true);
        stopTimer(ENDED);
      },
      reject(error) {
        settle.reject(error);
        stopTimer(ENDED);
      },
    });
    return stopWaiting;
  });
}

/** Ends the half of a condition that is not needed any more; nobody ever sees it. */
const ENDED = new CancelledError();
