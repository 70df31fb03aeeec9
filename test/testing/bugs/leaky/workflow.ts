import { log, sleep, workflow } from 'perdure';
import { prepare } from '../early/steps.js';

/** The bug: it decides by what logging has done, and nothing is logged while a run is replayed. */
export const leaky = workflow({
  name: 'leaky',
  fn: async () => {
    let logged = 0;
    log.info('begins', {
      get count() {
        logged++;
        return logged;
      },
    });
    if (logged > 0) await prepare();
    await sleep('1 day');
    return logged;
  },
});
