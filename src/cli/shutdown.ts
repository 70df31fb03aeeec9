/** How a command ends: by a signal, gracefully, and at once by a second one. */

/** Longer than any part takes to close beyond the grace of the steps; a shutdown that hangs must end all the same. */
const MAX_CLOSING_MS = 20_000;

/** One press of Ctrl-C arrives more than once: from the terminal, and again from an npm that passes it on. */
const SAME_KEY_PRESS_MS = 500;

/** Resolves at the first SIGINT or SIGTERM; the next one ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        resolve(signal);
      } else if (signal !== 'SIGINT' || performance.now() - firstAt > SAME_KEY_PRESS_MS) {
        process.exit(signal === 'SIGINT' ? 130 : 143);
      }
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

/** Does the steps in order, each although one before it failed, and ends with the first failure. */
export async function shutDown(steps: (() => Promise<unknown>)[], graceMs: number): Promise<void> {
  const impatience = setTimeout(() => {
    console.error('perdure: the shutdown took too long; exiting');
    process.exit(1);
  }, graceMs + MAX_CLOSING_MS);
  let failure: unknown;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failure ??= error;
    }
  }
  clearTimeout(impatience);
  if (failure !== undefined) throw failure;
}
