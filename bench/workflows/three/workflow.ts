import { workflow } from 'perdure';
import { first, second, third } from './steps.js';

export default workflow({
  name: 'three',
  description: 'Returns its input after three steps in a row',
  fn: async (input: unknown) => third(await second(await first(input))),
});
