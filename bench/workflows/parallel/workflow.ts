import { workflow } from 'perdure';
import { echo } from './steps.js';

export default workflow({
  name: 'parallel',
  description: 'Returns its input after a hundred steps at once',
  fn: async (input: unknown) => {
    await Promise.all(Array.from({ length: 100 }, () => echo(input)));
    return input;
  },
});
