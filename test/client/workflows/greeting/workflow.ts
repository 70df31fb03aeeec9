import { workflow, z } from 'perdure';

/** Its input may be left out. */
export default workflow({
  name: 'greeting',
  inputSchema: z.object({ name: z.string() }).default({ name: 'nobody' }),
  fn: async ({ name }) => `hello ${name}`,
});
