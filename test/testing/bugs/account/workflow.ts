import { sleep, workflow } from 'perdure';
import { pay, payOnce } from './steps.js';

export const payments = workflow({
  name: 'payments',
  fn: async ({ isSafe }: { isSafe: boolean }) => {
    for (let month = 0; month < 3; month++) {
      await (isSafe ? payOnce : pay)(10);
      await sleep('30 days');
    }
  },
});
