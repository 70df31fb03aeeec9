import { step, stepContext, z } from 'perdure';
import { passGate, place, record } from '../../../workflows/shared/ledger.js';

const once = place.extend({ kind: z.enum(['exit', 'exitCleanly', 'sigkill', 'memory', 'stray']) });
const quickly = { initialInterval: '20ms', maximumAttempts: 3 } as const;

/** Does its worst at the first attempt; the second one returns. */
export const misbehave = step({
  name: 'misbehave',
  inputSchema: once,
  options: { startToCloseTimeout: '60s', retry: quickly },
  fn: async (input): Promise<string> => {
    const { attempt } = stepContext();
    await record(input, 'ran', input.kind);
    if (attempt > 1) return `survived ${input.kind}`;
    switch (input.kind) {
      case 'exit':
        return process.exit(1);
      case 'exitCleanly':
        return process.exit(0);
      case 'sigkill':
        process.kill(process.pid, 'SIGKILL');
        return new Promise(() => {});
      case 'memory': {
        const hoard: unknown[] = [];
        for (;;) hoard.push(new Array(100_000).fill({}).map(() => ({ hoard: Math.random() })));
      }
      case 'stray':
        setTimeout(() => {
          throw new Error('after the step has returned');
        }, 20);
        return 'returned before the stray error';
    }
  },
});

/** Loops with a short time to do it in. */
export const loopShortly = step({
  name: 'loopShortly',
  inputSchema: place,
  options: { startToCloseTimeout: '1s', retry: quickly },
  fn: async (input): Promise<string> => {
    await record(input, 'ran');
    if (stepContext().attempt > 1) return 'got out of the loop';
    for (;;);
  },
});

/** A neighbour in the same worker: it waits, and may have to do so again. */
export const neighbour = step({
  name: 'neighbour',
  inputSchema: place,
  options: { retry: { initialInterval: '20ms', maximumAttempts: 0 } },
  fn: async (input) => {
    await record(input, 'started');
    await passGate(input, input.key);
    return 'undisturbed';
  },
});

export const quiet = step({
  name: 'quiet',
  inputSchema: place,
  fn: async (input) => {
    await record(input, 'ran');
    return 'quiet';
  },
});
