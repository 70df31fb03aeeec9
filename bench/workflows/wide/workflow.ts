import { condition, defineQuery, defineSignal, setHandler, workflow } from 'perdure';
import { echo } from './steps.js';

const finish = defineSignal('finish');
const taken = defineQuery<number>('taken');

export default workflow({
  name: 'wide',
  description: 'Takes batches of steps, each at once, and waits then to be told to finish',
  fn: async (input: { batches: number; width: number }) => {
    let isToFinish = false;
    let steps = 0;
    setHandler(finish, () => {
      isToFinish = true;
    });
    setHandler(taken, () => steps);
    for (let batch = 0; batch < input.batches; batch++) {
      await Promise.all(Array.from({ length: input.width }, () => echo(batch)));
      steps += input.width;
    }
    await condition(() => isToFinish);
    return { steps };
  },
});
