import { executeInParallel, workflow } from 'perdure';
import { described } from '../shared/described.js';
import type { Place } from '../shared/ledger.js';
import { flakyOnce } from '../shared/steps/failing.js';
import { gated, note } from '../shared/steps/recording.js';

/** Jobs of which some fail; the answers come in the order of the jobs. */
export const someJobsFail = workflow({
  name: 'someJobsFail',
  fn: async (input) => {
    const place = input as Place;
    const completed: number[] = [];
    const results = await executeInParallel({
      jobs: [
        () => note({ ...place, value: 'first' }),
        () => flakyOnce({ ...place, failures: 1 }),
        async () => {
          throw new TypeError('no step at all');
        },
        async () => 'plain',
      ],
      onJobCompleted: (result: { index: number }) => {
        completed.push(result.index);
      },
    });
    return {
      results: results.map((each) =>
        each.ok
          ? { ok: true, result: each.result, index: each.index }
          : { ok: false, error: described(each.error).message, index: each.index },
      ),
      completed: [...completed].sort(),
    };
  },
});

export const limitedJobs = workflow({
  name: 'limitedJobs',
  fn: async (input) => {
    const { concurrency, count, ...place } = input as Place & { concurrency: number; count: number };
    let running = 0;
    let most = 0;
    const results = await executeInParallel({
      concurrency,
      jobs: Array.from({ length: count }, (_, index) => async () => {
        most = Math.max(most, ++running);
        await gated({ ...place, gate: place.key });
        running--;
        return index;
      }),
    });
    return { most, results: results.map((each) => (each.ok ? each.result : 'failed')) };
  },
});

export const noJobs = workflow({ name: 'noJobs', fn: async () => executeInParallel({ jobs: [] }) });
