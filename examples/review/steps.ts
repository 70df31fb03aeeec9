import { step, z } from 'perdure';

export const publish = step({
  name: 'publish',
  description: 'Makes a reviewed text public',
  inputSchema: z.object({ title: z.string(), note: z.string() }),
  outputSchema: z.string(),
  fn: async ({ title }) => `/articles/${encodeURIComponent(title.toLowerCase().replaceAll(' ', '-'))}`,
});
