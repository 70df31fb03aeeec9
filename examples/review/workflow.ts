import { sendPostRequestAndAwaitWebhook, workflow, z } from 'perdure';
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
    // The reviewer gets { workflowId, payload } and answers, days later if need be, with
    // POST /workflow/{workflowId}/feedback { "payload": { "accepted": true } }
    const verdict = Verdict.parse(
      await sendPostRequestAndAwaitWebhook({ url: reviewer, payload: { title, text } }),
    );
    if (!verdict.accepted) return { published: null, note: verdict.note };
    return { published: await publish({ title, note: verdict.note }), note: verdict.note };
  },
});
