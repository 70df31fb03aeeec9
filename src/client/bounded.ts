/** Waiting that ends: by a signal of the caller, or after a time. Leaves no timer and no listener behind. */

export interface Bounds {
  signal?: AbortSignal;
  ms?: number;
  /** The reason when the time has passed. */
  expired?: () => unknown;
}

/** A signal that fires with the caller's or after the time, until it is released. */
export function bound({ signal, ms, expired }: Bounds): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const timer = ms === undefined ? undefined : setTimeout(() => controller.abort(expired?.()), atMost(ms));
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

/** @throws what the work throws, or the reason why it was ended */
export async function bounded<T>(bounds: Bounds, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, release } = bound(bounds);
  try {
    signal.throwIfAborted();
    return await work(signal);
  } catch (error) {
    // Whatever the work made of it: the reason is what the caller is told.
    throw signal.aborted ? signal.reason : error;
  } finally {
    release();
  }
}

/** Timers take 31 bits, and fire at once when given more. */
const atMost = (ms: number): number => Math.min(ms, 2 ** 31 - 1);

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { signal: over, release } = bound({ signal, ms });
  return new Promise<void>((resolve, reject) => {
    const end = () => (signal?.aborted ? reject(signal.reason) : resolve());
    if (over.aborted) end();
    else over.addEventListener('abort', end);
  }).finally(release);
}

/** Rejects with the reason of the signal, once there is one. */
export const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

/** What comes several at a time, but nothing of it once the signal has fired. @throws its reason */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  for await (const item of items) {
    yield item;
    signal.throwIfAborted();
  }
}
