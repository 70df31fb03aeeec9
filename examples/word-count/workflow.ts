import { executeInParallel, workflow, z } from 'perdure';
import { countWords } from './steps.js';

export default workflow({
  name: 'wordCount',
  description: 'Counts the words of many texts, a few at a time',
  inputSchema: z
    .object({ texts: z.array(z.string()).max(1_000), concurrency: z.number().int().min(1).default(4) })
    .meta({ examples: [{ texts: ['to be or not to be', 'that is the question'] }] }),
  outputSchema: z.object({ total: z.number(), perText: z.array(z.number().nullable()) }),
  fn: async ({ texts, concurrency }) => {
    const results = await executeInParallel({
      jobs: texts.map((text) => () => countWords(text)),
      concurrency,
    });
    // One text that cannot be counted does not spoil the others.
    const perText = results.map((job) => (job.ok ? job.result : null));
    return { total: perText.reduce<number>((sum, words) => sum + (words ?? 0), 0), perText };
  },
});
