import { createCallback, workflow, z } from 'perdure';
import { ask } from './steps.js';

const verdict = z.object({ accepted: z.boolean(), note: z.string().default('') });

/** Asks two outside parties and waits until both have called back, each at an address of its own. */
export default workflow({
  name: 'review',
  inputSchema: z.object({ text: z.string(), reviewers: z.array(z.url()) }),
  outputSchema: z.array(verdict),
  fn: async ({ text, reviewers }) =>
    Promise.all(
      reviewers.map(async (reviewer) => {
        const { url, result } = createCallback({ schema: verdict });
        await ask({ reviewer, text, answerTo: url });
        return result;
      }),
    ),
});
