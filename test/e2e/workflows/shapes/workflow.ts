/** One workflow per way in which a run can end, and some that show how values travel. */
import { sleep, workflow, z } from 'perdure';
import { decline } from './steps.js';

export const echo = workflow({ name: 'echo', fn: async (input: unknown) => input });

export const nothing = workflow({ name: 'nothing', fn: async () => undefined });

export const declined = workflow({ name: 'declined', fn: async () => decline() });

export const wait = workflow({
  name: 'wait',
  inputSchema: z.number(),
  fn: async (milliseconds) => {
    await sleep(milliseconds);
    return 'waited';
  },
});

export const expiring = workflow({
  name: 'expiring',
  options: { executionTimeout: '50ms' },
  fn: async () => sleep('1 hour'),
});

export const countDown = workflow({
  name: 'countDown',
  inputSchema: z.number().int().min(0),
  fn: async (from, context) => (from === 0 ? 'done' : context.control.continueAsNew(from - 1)),
});
