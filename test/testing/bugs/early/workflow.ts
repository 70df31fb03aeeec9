import { condition, defineSignal, setHandler, workflow } from 'perdure';
import { prepare } from './steps.js';

const add = defineSignal<[number]>('add');

export const collector = workflow({
  name: 'collector',
  fn: async ({ keepsEarly }: { keepsEarly: boolean }) => {
    const numbers: number[] = [];
    let isReady = keepsEarly;
    setHandler(add, (value) => {
      // The bug: what comes before the workflow is ready for it is dropped.
      if (isReady) numbers.push(value);
    });
    await prepare();
    isReady = true;
    await condition(() => numbers.length === 2);
    return numbers;
  },
});
