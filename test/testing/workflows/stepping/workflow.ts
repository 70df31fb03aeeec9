import { CancellationScope, condition, sleep, step, workflow, z } from 'perdure';
import { beating, fetchPrice, note, takesTime, whoAmI } from './steps.js';

export const price = workflow({
  name: 'price',
  outputSchema: z.object({ cents: z.number() }),
  fn: async (product: string) => fetchPrice({ product }),
});

export const working = workflow({
  name: 'working',
  fn: async (ms: number) => {
    const took = await takesTime(ms);
    await sleep('30 days');
    return took;
  },
});

export const identity = workflow({ name: 'identity', fn: async () => whoAmI() });

export const echo = workflow({ name: 'echo', fn: async (input?: unknown) => ({ input }) });

/** In the workflow's own file, and not exported. */
const inner = step({ name: 'inner', fn: async (text: string) => `inner ${text}` });
export const ownStep = workflow({ name: 'ownStep', fn: async (text: string) => inner(text) });

export const cleaning = workflow({
  name: 'cleaning',
  fn: async () => {
    try {
      await condition(() => false);
    } finally {
      await CancellationScope.nonCancellable(() => note('cleaned up'));
    }
  },
});

export const twoNotes = workflow({
  name: 'twoNotes',
  fn: async () => [await note('first'), await note('second')],
});

export const parallelNotes = workflow({
  name: 'parallelNotes',
  fn: async (texts: string[]) => Promise.all(texts.map((text) => note(text))),
});

/** Goes on by what an error says of itself. */
export const choosy = workflow({
  name: 'choosy',
  fn: async () => {
    try {
      await fetchPrice({ product: 'tea' });
      return 'got tea';
    } catch (error) {
      if ((error as { code?: string }).code !== 'E_TEA') throw error;
      await note('coffee');
      return 'asked for coffee';
    }
  },
});

export const beater = workflow({ name: 'beater', fn: async () => beating() });

/** Goes on without a price, and has a long way to go. */
export const content = workflow({
  name: 'content',
  fn: async (product: string) => {
    const found = await fetchPrice
      .with({ startToCloseTimeout: '300 ms', retry: { maximumAttempts: 1 } })({ product })
      .catch(() => null);
    await sleep('30 days');
    return found;
  },
});
