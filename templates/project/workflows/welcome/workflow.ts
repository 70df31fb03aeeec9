import { sleep, workflow, z } from 'perdure';
import { sendMail } from './steps.js';

export default workflow({
  name: 'welcome',
  description: 'Greets somebody, and asks a while later how it goes',
  inputSchema: z
    .object({ name: z.string().min(1), askAfter: z.string().default('2 seconds') })
    .meta({ examples: [{ name: 'Ada' }] }),
  outputSchema: z.object({ mails: z.array(z.string()) }),
  fn: async ({ name, askAfter }) => {
    const first = await sendMail({ to: name, subject: `Welcome, ${name}!` });
    // The run is on disk while it sleeps: a week costs no more than a second, and no process has to stay for it.
    await sleep(askAfter);
    const second = await sendMail({ to: name, subject: 'How is it going?' });
    return { mails: [first.mailId, second.mailId] };
  },
});
