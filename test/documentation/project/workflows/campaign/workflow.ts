import {
  condition,
  defineQuery,
  defineSignal,
  executeInParallel,
  setHandler,
  workflow,
  workflowInfo,
  z,
} from 'perdure';
import { prepare, remind, send } from './steps.js';

interface Progress {
  prepared: number;
  failed: number;
  reminders: number;
}

const approve = defineSignal<[{ by: string }]>('approve');
const progress = defineQuery<Progress>('progress');

/** Fans out, waits for a person and reminds them, fans out again. */
export default workflow({
  name: 'campaign',
  inputSchema: z.object({
    recipients: z.number().int().min(1).max(1000),
    approver: z.string(),
    remindEvery: z.union([z.number(), z.string()]).default('1 day'),
    giveUpAfter: z.number().int().default(5),
  }),
  outputSchema: z.object({
    sent: z.number(),
    failed: z.number(),
    reminders: z.number(),
    approvedBy: z.string().nullable(),
    runId: z.string(),
  }),
  signals: { approve: { description: 'Lets the letters go', inputSchema: z.object({ by: z.string() }) } },
  queries: { progress: { description: 'How far it has come' } },
  fn: async ({ recipients, approver, remindEvery, giveUpAfter }) => {
    const state: Progress = { prepared: 0, failed: 0, reminders: 0 };
    let approvedBy: string | null = null;
    setHandler(progress, () => ({ ...state }));
    setHandler(approve, ({ by }) => {
      approvedBy = by;
    });
    const letters = await executeInParallel({
      jobs: Array.from({ length: recipients }, (_, recipient) => () => prepare(recipient)),
      concurrency: 25,
      onJobCompleted: ({ ok }) => {
        if (ok) state.prepared += 1;
        else state.failed += 1;
      },
    });
    const { runId } = workflowInfo();
    while (!(await condition(() => approvedBy !== null, remindEvery))) {
      if (state.reminders === giveUpAfter) {
        return { sent: 0, failed: state.failed, reminders: state.reminders, approvedBy, runId };
      }
      state.reminders += 1;
      await remind({ approver, reminder: state.reminders });
    }
    const sent = await executeInParallel({
      jobs: letters.flatMap((letter) => (letter.ok ? [() => send(letter.result)] : [])),
      concurrency: 25,
    });
    return {
      sent: sent.filter((job) => job.ok && job.result).length,
      failed: state.failed,
      reminders: state.reminders,
      approvedBy,
      runId,
    };
  },
});
