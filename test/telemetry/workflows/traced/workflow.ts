import { condition, defineSignal, setHandler, workflow, z } from 'perdure';
import { work } from './steps.js';

export const child = workflow({ name: 'child', inputSchema: z.number(), fn: (number) => work(number) });

/** Steps side by side, one of which fails at first, and a child. */
export const traced = workflow({
  name: 'traced',
  inputSchema: z.number(),
  fn: async (steps) => {
    await Promise.all(Array.from({ length: steps }, (_, number) => work(number)));
    return child(steps);
  },
});

/** Works before and after somebody says so. */
export const patient = workflow({
  name: 'patient',
  fn: async () => {
    let isCalled = false;
    setHandler(defineSignal('go'), () => {
      isCalled = true;
    });
    await work(1);
    await condition(() => isCalled);
    return work(2);
  },
});
