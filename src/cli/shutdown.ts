/** How a command ends: by a signal, gracefully, and at once by a second one. */

/** Longer than any part takes to drain; a shutdown that hangs must end all the same. */
const MAX_SHUTDOWN_MS = 30_000;

/** Resolves at the first SIGINT or SIGTERM. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      resolve(signal);
      process.on('SIGINT', exitAtOnce);
      process.on('SIGTERM', exitAtOnce);
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

function exitAtOnce(signal: NodeJS.Signals): void {
  process.exit(signal === 'SIGINT' ? 130 : 143);
}

/** Does the steps in order, each although one before it failed, and ends with the first failure. */
export async function shutDown(steps: (() => Promise<unknown>)[]): Promise<void> {
  const impatience = setTimeout(() => {
    console.error('perdure: the shutdown took too long; exiting');
    process.exit(1);
  }, MAX_SHUTDOWN_MS);
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
