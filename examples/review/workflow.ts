import { createCallback, sendHttpRequest, workflow, z } from 'perdure';
import { publish } from './steps.js';

const Verdict = z.object({ accepted: z.boolean(), note: z.string().default('') });

export default workflow({
  name: 'review',
  description: 'Sends a text to an outside reviewer, waits for the verdict to be called back, publishes',
  inputSchema: z.object({ title: z.string().min(1), text: z.string(), reviewer: z.url() }).meta({
    examples: [
      { title: 'On patience', text: 'It takes a while.', reviewer: 'http://127.0.0.1:4000/reviews' },
    ],
  }),
  outputSchema: z.object({ published: z.string().nullable(), note: z.string() }),
  fn: async ({ title, text, reviewer }) => {
    const verdict = createCallback({ schema: Verdict });
    // The reviewer answers, days later if need be and without the token of the API, by POST to that address.
    await sendHttpRequest({
      url: reviewer,
      payload: { title, text, answerTo: verdict.url },
      responseOptions: { headers: false, body: false },
    });
    const { accepted, note } = await verdict.result;
    return { published: accepted ? await publish({ title, note }) : null, note };
  },
});
