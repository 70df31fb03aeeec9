import { workflow } from 'perdure';
import { only } from './steps.js';

export default workflow({
  name: 'one',
  description: 'Returns its input after one step',
  fn: async (input: unknown) => only(input),
});
