/** Time that what is under way gets before its process ends. */

/** What an aborted step gets to clean up. */
export const ABORT_MS = 1_000;

/** Resolves when `promise` does, but after `ms` at the latest. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
