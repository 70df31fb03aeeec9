import { workflow } from 'perdure';
import { increment } from './steps.js';

export default workflow({
  name: 'long',
  description: 'Takes the given number of steps, one after the other',
  fn: async (input: { steps: number }) => {
    let steps = 0;
    while (steps < input.steps) steps = await increment(steps);
    return { steps };
  },
});
