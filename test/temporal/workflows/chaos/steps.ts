import { appendFileSync } from 'node:fs';
import { step, stepContext } from 'perdure';

/** Leaves a mark of who ran it, in a file that the test reads. */
export const marks = step({
  name: 'marks',
  // An attempt whose end nobody took, since the cluster was away, is made again soon and as often as it takes.
  options: {
    startToCloseTimeout: '3s',
    retry: { maximumAttempts: 0, initialInterval: '50ms', maximumInterval: '1s' },
  },
  fn: async ({ ledger, token, place }: { ledger: string; token: string; place: number }) => {
    const { workflowId, runId } = stepContext();
    appendFileSync(ledger, `${JSON.stringify({ token, workflowId, runId, place })}\n`);
    return place;
  },
});

export const namesOfVariables = step({ name: 'namesOfVariables', fn: async () => Object.keys(process.env) });
