import { workflow } from 'perdure';

export default workflow({
  name: 'zero',
  description: 'Returns its input, without a step',
  fn: async (input: unknown) => input,
});
