import { condition, defineQuery, defineSignal, setHandler, sleep, workflow } from 'perdure';
import type { Place } from '../shared/ledger.js';
import { note } from '../shared/steps/recording.js';

const bump = defineSignal('bump');
const end = defineSignal<['return' | 'throw']>('end');

/** Counts, and answers questions about it of every kind. */
export const counts = workflow({
  name: 'counts',
  fn: async (input) => {
    let count = 0;
    let ending: string | undefined;
    setHandler(bump, () => {
      count++;
    });
    setHandler(end, (how) => {
      ending = how;
    });
    setHandler(defineQuery<number>('count'), () => count);
    setHandler(defineQuery<unknown, [unknown]>('repeat'), (value) => ({ value, count }));
    setHandler(defineQuery<undefined>('nothing'), () => undefined);
    setHandler(defineQuery<never>('broken'), () => {
      throw new RangeError('no answer to that');
    });
    // A promise as the answer is what an author may write by mistake.
    setHandler(defineQuery<Promise<number>>('later'), async () => count);
    setHandler(defineQuery<unknown>('unspeakable'), () => ({ big: 10n }));
    setHandler(defineQuery<string>('stepping'), () => {
      void note({ ...(input as Place), value: 'from a query' });
      return 'called';
    });
    setHandler(defineQuery<string>('sleeping'), () => {
      void sleep(1);
      return 'slept';
    });
    await condition(() => ending !== undefined);
    if (ending === 'throw') throw new Error('as told');
    return count;
  },
});

/** Its handler comes only after a while. */
export const answersLate = workflow({
  name: 'answersLate',
  fn: async () => {
    await sleep(1);
    setHandler(defineQuery<string>('late'), () => 'here I am');
    await condition(() => false);
  },
});
