/** The time, once a second for all that shows it, so that everything on the page changes together. */
import { useSyncExternalStore } from 'react';
import { serverNow } from '../app/clock.js';

const listeners = new Set<() => void>();
let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.hidden) return;
  now = serverNow();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function read(): number {
  // Nobody has watched for a while: what is shown first is not an old time.
  if (timer === undefined) now = serverNow();
  return now;
}

export const useNow = (): number => useSyncExternalStore(subscribe, read);
