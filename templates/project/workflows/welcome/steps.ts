import { step, stepContext, z } from 'perdure';

/** Steps touch the world: they are retried until they succeed, and then never run again. */
export const sendMail = step({
  name: 'sendMail',
  description: 'Sends a mail',
  inputSchema: z.object({ to: z.string(), subject: z.string() }),
  outputSchema: z.object({ mailId: z.string() }),
  options: { startToCloseTimeout: '30s', retry: { maximumAttempts: 5 } },
  fn: async ({ to, subject }) => {
    // Here a provider is called. It gets the key, which is the same for every attempt, so that no mail is sent twice.
    const { idempotencyKey, log } = stepContext();
    log.info('a mail is sent', { to, subject });
    return { mailId: `mail-${idempotencyKey}` };
  },
});
