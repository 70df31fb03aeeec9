/** Whether the server answers. Every call says so, and while it does not, it is asked now and then. */
import { Store } from './store.js';

/** Often enough that the line goes away soon, seldom enough for a server that has much to do when it comes back. */
const ASK_EVERY_MS = 2_000;

export const isConnected = new Store(true);

let asking: ReturnType<typeof setTimeout> | undefined;

export function answered(): void {
  isConnected.set(true);
  clearTimeout(asking);
  asking = undefined;
}

/** `ask` resolves when the server answers; what it answers is told by `answered`. */
export function unreachable(ask: () => Promise<unknown>): void {
  isConnected.set(false);
  if (asking !== undefined) return;
  asking = setTimeout(() => {
    asking = undefined;
    ask().catch(() => unreachable(ask));
  }, ASK_EVERY_MS);
}

let isDoubted = false;

/** Nobody knows whether the server is there: it is asked once. */
export function doubted(ask: () => Promise<unknown>): void {
  if (isDoubted || asking !== undefined) return;
  isDoubted = true;
  ask()
    .catch(() => unreachable(ask))
    .finally(() => {
      isDoubted = false;
    });
}

/** Resolves as soon as the server answers, as far as is known; or when `signal` is aborted. */
export function reachable(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isConnected.value && !signal.aborted) return;
      stop();
      signal.removeEventListener('abort', look);
      resolve();
    };
    const stop = isConnected.subscribe(look);
    signal.addEventListener('abort', look);
    look();
  });
}
