import { workflow } from 'perdure';
import { echo } from './steps.js';

export default workflow({
  name: 'twenty',
  description: 'Returns its input after twenty steps in a row',
  fn: async (input: unknown) => {
    let value = input;
    for (let taken = 0; taken < 20; taken++) value = await echo(value);
    return value;
  },
});
