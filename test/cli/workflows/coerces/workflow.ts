import { defineSignal, setHandler, workflow, z } from 'perdure';

const more = defineSignal('more', { inputSchema: z.coerce.number() });

/** Takes more than its published schemas say. */
export default workflow({
  name: 'coerces',
  inputSchema: z.object({
    count: z.coerce.number(),
    tag: z.preprocess((given) => String(given).toUpperCase(), z.string().min(2)).default('none'),
    strict: z.boolean().default(false),
  }),
  fn: async ({ count, tag }) => {
    setHandler(more, () => {});
    return { count, tag };
  },
});
