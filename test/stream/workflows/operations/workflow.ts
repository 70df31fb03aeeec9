/** Workflows for the tests of what operators see. */
import { condition, defineSignal, setHandler, workflow, z } from 'perdure';
import { breaks, repeats, stuck, works } from './steps.js';

interface Work {
  ledger: string;
  ms: number;
}

export const slow = workflow({ name: 'slow', fn: async (work: Work) => works(work) });
export const endless = workflow({ name: 'endless', fn: async (work: Work) => stuck(work) });
export const echoes = workflow({ name: 'echoes', fn: async (value: unknown) => repeats(value) });
export const fails = workflow({ name: 'fails', fn: async (value: unknown) => breaks(value) });
export const picky = workflow({
  name: 'picky',
  inputSchema: z.object({ count: z.number() }),
  fn: async ({ count }) => count,
});

export const waits = workflow({
  name: 'waits',
  fn: async () => {
    const heard: unknown[] = [];
    setHandler(defineSignal<[unknown]>('tell'), (value) => {
      heard.push(value);
    });
    await condition(() => heard.includes('end'));
    return heard;
  },
});
