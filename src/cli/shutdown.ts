/** How a command ends: by a signal, gracefully, and at once by a second one. */
import { constants } from 'node:os';

/** Longer than any part takes to close beyond the grace of the steps; a shutdown that hangs must end all the same. */
const MAX_CLOSING_MS = 20_000;

/** One press of Ctrl-C arrives more than once: from the terminal, and again from an npm that passes it on. */
const SAME_KEY_PRESS_MS = 500;

/** Ctrl-C, the end of a service or a container, and a terminal that was closed. */
const ENDING: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** As a shell tells of a program that a signal has ended. */
export const exitCodeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Calls `end` at the first signal to end; the next one ends the process at once. Answers with what listens no longer. */
export function onSignal(end: (signal: NodeJS.Signals) => void): () => void {
  let firstAt: number | undefined;
  const listener = (signal: NodeJS.Signals) => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      end(signal);
    } else if (signal !== 'SIGINT' || performance.now() - firstAt > SAME_KEY_PRESS_MS) {
      process.exit(exitCodeOf(signal));
    }
  };
  for (const signal of ENDING) process.on(signal, listener);
  return () => {
    for (const signal of ENDING) process.off(signal, listener);
  };
}

/** Resolves at the first signal to end; the next one ends the process at once. */
export const untilSignal = (): Promise<NodeJS.Signals> => new Promise((resolve) => void onSignal(resolve));

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
